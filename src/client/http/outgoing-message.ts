/** A message of the host's as its HTTP request knows it, and who hears what becomes of it. */
import { isJsonObject } from '../../protocol/classify.ts';
import type { RuntimeError } from '../../protocol/errors.ts';
import type {
  InboundFrame,
  InboundResponse,
  JsonObject,
  OutboundMessage,
  WireError,
} from '../../protocol/frames.ts';
import { MetaKey } from '../../protocol/meta.ts';

/** Who hears what becomes of a message. */
export interface MessageHearer {
  /** The server has accepted it. */
  taken(): void;
  /** What the server has sent on its answer. */
  heard(frames: readonly InboundFrame[]): void;
  /** What was on its answer and is no message. */
  invalid(message: string): void;
  /** There is no answer to it, or it was not taken. */
  failed(error: RuntimeError): void;
  /** It was not served, because of this: it may be sent once more. */
  returned(error: RuntimeError): void;
}

export class OutgoingMessage {
  readonly message: OutboundMessage;
  readonly kind: 'request' | 'notification' | 'response';
  readonly method: string | undefined;
  /** Of a request. */
  readonly id: InboundResponse['id'] | undefined;
  readonly params: JsonObject | undefined;
  /** The revision that a request says itself, since 2026-07-28. */
  readonly revision: string | undefined;
  /** Its text. */
  readonly body: string;
  readonly #hearer: MessageHearer;

  constructor(message: OutboundMessage, body: string, hearer: MessageHearer) {
    this.message = message;
    this.body = body;
    this.#hearer = hearer;
    const isCall = 'method' in message;
    this.method = isCall ? message.method : undefined;
    this.params = isCall && isJsonObject(message.params) ? message.params : undefined;
    this.kind = !isCall ? 'response' : 'id' in message ? 'request' : 'notification';
    this.id = 'method' in message && 'id' in message ? message.id : undefined;
    const meta = this.params?.['_meta'];
    const revision = isJsonObject(meta) ? meta[MetaKey.protocolVersion] : undefined;
    this.revision = typeof revision === 'string' ? revision : undefined;
  }

  /** For errors. */
  get what(): string {
    return this.method ?? 'a response';
  }

  /** Whether a frame is the answer to it. Ids are compared with their types. */
  isAnsweredBy(frame: InboundFrame): boolean {
    if (this.id === undefined) return false;
    if (frame.kind === 'response') return frame.id === this.id;
    if (frame.kind !== 'batch') return false;
    return frame.messages.some(
      (message) => isJsonObject(message) && message['id'] === this.id && !('method' in message),
    );
  }

  /** The frame of an answer with this error. */
  answerWith(error: WireError): InboundFrame {
    return {
      kind: 'response',
      id: this.id as InboundResponse['id'],
      outcome: { ok: false, error },
    };
  }

  taken(): void {
    this.#hearer.taken();
  }

  heard(frames: readonly InboundFrame[]): void {
    this.#hearer.heard(frames);
  }

  invalid(message: string): void {
    this.#hearer.invalid(message);
  }

  failed(error: RuntimeError): void {
    this.#hearer.failed(error);
  }

  returned(error: RuntimeError): void {
    this.#hearer.returned(error);
  }
}
