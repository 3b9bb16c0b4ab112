/** Tracks a relayed stream of server-sent events, so that a broken stream can be ended cleanly. */
const lineFeed = 10;

export class EventScan {
  /** Start of the current line, long enough to identify the field. */
  #field = '';
  #lineBytes = 0;
  /** True if the current event has an id. */
  #eventHasId = false;
  /** True between two events. */
  isBetweenEvents = true;
  /** True if the client has an event id to resume from. */
  hasEventId = false;

  take(chunk: Uint8Array): void {
    let at = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, at)) {
      this.#add(chunk, at, end);
      this.#endLine();
      at = end + 1;
    }
    this.#add(chunk, at, chunk.length);
  }

  #add(chunk: Uint8Array, from: number, to: number): void {
    if (to === from) return;
    this.#lineBytes += to - from;
    this.isBetweenEvents = false;
    for (let at = from; at < to && this.#field.length < idField.length; at++) {
      this.#field += String.fromCharCode(chunk[at] ?? 0);
    }
  }

  #endLine(): void {
    if (this.#lineBytes === 0) {
      this.hasEventId ||= this.#eventHasId;
      this.#eventHasId = false;
      this.isBetweenEvents = true;
    } else if (this.#field === idField) this.#eventHasId = true;
    this.#field = '';
    this.#lineBytes = 0;
  }
}

const idField = 'id:';
