/** The messages of an HTTP answer, which is one JSON text or a stream of events. */
import { StringDecoder } from 'node:string_decoder';
import type { Message } from '../raw-client.ts';
import type { Reception } from './connection.ts';

/** What hears of an answer. */
export interface Hearing {
  /** The answer's head has come. */
  onHead?(status: number, headers: ReadonlyMap<string, string>): void;
  onMessage(message: Message): void;
  /** All messages of a chunk have been taken. */
  onChunkEnd?(): void;
  /** @param rest what the answer says besides messages: a text that is no JSON */
  onEnd?(status: number, rest: string): void;
  /** The answer cannot be understood. */
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
  /** A line end that may be the first half of an event's end. */
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
