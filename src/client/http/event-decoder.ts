/**
 * The events of a stream, as they come.
 *
 * @see HTML, "Server-sent events", "Parsing an event stream"
 */
import { createParser } from 'eventsource-parser';
import type { EventSourceMessage } from 'eventsource-parser';

/** What one chunk of a stream held. */
export interface DecodedChunk {
  readonly events: readonly EventSourceMessage[];
  /** The last `retry`, milliseconds. */
  readonly retryMs: number | undefined;
  /** An event is longer than it may be: nothing of the stream can be read any more. */
  readonly isTooLong: boolean;
}

/** Decodes one stream. */
export class EventDecoder {
  readonly #text = new TextDecoder();
  #events: EventSourceMessage[] = [];
  #retryMs: number | undefined = undefined;
  #state: 'reading' | 'afterReturn' | 'tooLong' = 'reading';
  readonly #parser;

  /** @param maxLength of an event, UTF-16 units */
  constructor(maxLength: number) {
    this.#parser = createParser({
      maxBufferSize: maxLength,
      onEvent: (event) => {
        // The buffer holds what waits for more. A chunk alone may hold too much.
        if (event.data.length > maxLength) this.#state = 'tooLong';
        else if (this.#state !== 'tooLong') this.#events.push(event);
      },
      onRetry: (retryMs) => {
        this.#retryMs = retryMs;
      },
      onError: ({ type }) => {
        // What else is no field of an event is skipped, as the standard demands.
        if (type === 'max-buffer-size-exceeded') this.#state = 'tooLong';
      },
    });
  }

  decode(chunk: Uint8Array): DecodedChunk {
    this.#feed(this.#text.decode(chunk, { stream: true }));
    const decoded = {
      events: this.#events,
      retryMs: this.#retryMs,
      isTooLong: this.#state === 'tooLong',
    };
    this.#events = [];
    this.#retryMs = undefined;
    return decoded;
  }

  #feed(text: string): void {
    if (text === '' || this.#state === 'tooLong') return;
    // The parser holds back a line that ends in CR, for an LF to come. A server that ends its lines
    // in CR alone would wait for ever: the line is ended at once, and the LF that may come is none.
    const rest = this.#state === 'afterReturn' && text.startsWith('\n') ? text.slice(1) : text;
    this.#state = text.endsWith('\r') ? 'afterReturn' : 'reading';
    if (rest !== '') this.#parser.feed(this.#state === 'afterReturn' ? `${rest}\n` : rest);
  }
}
