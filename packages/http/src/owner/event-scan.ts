/** Follows a stream of server-sent events as its bytes pass, so that its end can be mended should it break. */
const lineFeed = 10;

export class EventScan {
  /** The beginning of the line that has no end yet, as long as it may say which field it is. */
  #field = '';
  #lineBytes = 0;
  /** True if the event that has no end yet has an id. */
  #isNamed = false;
  /** True between two events. */
  isWhole = true;
  /** True if the client has an event id to resume from. */
  hasId = false;

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
    this.isWhole = false;
    for (let at = from; at < to && this.#field.length < idField.length; at++) {
      this.#field += String.fromCharCode(chunk[at] ?? 0);
    }
  }

  #endLine(): void {
    if (this.#lineBytes === 0) {
      this.hasId ||= this.#isNamed;
      this.#isNamed = false;
      this.isWhole = true;
    } else if (this.#field === idField) this.#isNamed = true;
    this.#field = '';
    this.#lineBytes = 0;
  }
}

const idField = 'id:';
