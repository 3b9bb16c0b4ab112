/** Parses the messages of an HTTP response, either one JSON text or an event stream. */
import { StringDecoder } from 'node:string_decoder';
import type { Message } from '../raw-client.ts';
import type { Reception } from './connection.ts';

/** Callbacks for a response. */
export interface Hearing {
  /** The response headers have arrived. */
  onHead?(status: number, headers: ReadonlyMap<string, string>): void;
  onMessage(message: Message): void;
  /** All messages of a chunk have been delivered. */
  onChunkEnd?(): void;
  /** @param rest non-JSON text in the response */
  onEnd?(status: number, rest: string): void;
  /** The response is malformed. */
  onFault(why: string): void;
}

type Form = 'stream' | 'json' | 'other';

const eventEnd = '\n\n';

export class MessageReader implements Reception {
  readonly #hearing: Hearing;
  readonly #decoder = new StringDecoder('utf8');
  #form: Form = 'other';
  #status = 0;
  #pieces: string[] = [];
  /** A line ending that may be the first half of an event delimiter. */
  #held = '';

  constructor(hearing: Hearing) {
    this.#hearing = hearing;
  }

  head(status: number, headers: ReadonlyMap<string, string>): void {
    this.#status = status;
    this.#form = formOf(headers.get('content-type'));
    this.#hearing.onHead?.(status, headers);
  }

  body(piece: Buffer): void {
    const text = this.#held + this.#decoder.write(piece);
    this.#held = '';
    if (this.#form !== 'stream') {
      this.#pieces.push(text);
      return;
    }
    this.#takeEvents(text);
    this.#hearing.onChunkEnd?.();
  }

  end(): void {
    const text = this.#pieces.join('');
    if (this.#form === 'json' && text !== '') this.#take(text);
    this.#hearing.onEnd?.(this.#status, this.#form === 'other' ? text : '');
  }

  #takeEvents(text: string): void {
    const last = text.lastIndexOf(eventEnd);
    let rest = text;
    if (last !== -1) {
      rest = text.slice(last + eventEnd.length);
      this.#pieces.push(text.slice(0, last));
      const events = this.#pieces.join('').split(eventEnd);
      this.#pieces = [];
      for (const event of events) this.#takeEvent(event);
    }
    if (rest.endsWith('\n')) {
      this.#held = '\n';
      rest = rest.slice(0, -1);
    }
    if (rest !== '') this.#pieces.push(rest);
  }

  #takeEvent(event: string): void {
    for (const line of event.split('\n')) {
      // A priming event has empty data.
      if (line.startsWith('data:') && line.length > 'data: '.length) this.#take(line.slice(5));
    }
  }

  #take(text: string): void {
    let message: Message;
    try {
      message = JSON.parse(text) as Message;
    } catch {
      return this.#hearing.onFault(`status ${this.#status}, no JSON: ${text.slice(0, 200)}`);
    }
    this.#hearing.onMessage(message);
  }
}

function formOf(contentType = ''): Form {
  if (contentType.startsWith('text/event-stream')) return 'stream';
  return contentType.startsWith('application/json') ? 'json' : 'other';
}
