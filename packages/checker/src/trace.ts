/** Trace of a play: everything sent and received, in order, with queries on it. */
import type { JsonObject, RequestId } from 'mcp-actors';
import { Method, isJsonObject } from 'mcp-actors/internal';
import { asks } from './http/exchange.ts';
import type { ObservedExchange } from './http/exchange.ts';
import { idKey, isMessageId, messagesIn } from './message.ts';
import type { MoveType } from './move.ts';
import type { Exit } from './server-process.ts';

/** A line sent by the client, not necessarily a message. */
export interface PlayedLine {
  readonly kind: 'sent';
  readonly text: string;
  /** Parsed line; undefined if it is not JSON. */
  readonly value: unknown;
  /** The move that sent it; undefined if the player sent it itself. */
  readonly move: MoveType | undefined;
  /** True if no client may send this; afterwards the server may do anything. */
  readonly impolite: boolean;
  /** Readable description of an HTTP request's deviations. */
  readonly note?: string;
}

/** A line sent by the server. */
export interface Received {
  readonly kind: 'received';
  readonly text: string;
  /** Parsed line; undefined if it is not JSON. */
  readonly value: unknown;
  /** The exchange that carried it, over HTTP. */
  readonly via?: ObservedExchange;
}

/** Over HTTP: a response began; its messages follow. */
export interface Answered {
  readonly kind: 'answered';
  readonly exchange: ObservedExchange;
}

/** Over HTTP: no more messages can arrive for an exchange. */
export interface Over {
  readonly kind: 'over';
  readonly exchange: ObservedExchange;
}

/** The player waited for the server. `ok` is false after a timeout or the server's end. */
export interface Waited {
  readonly kind: 'waited';
  /** `fence`: until a pong. `settled`: until everything was answered. */
  readonly for: 'fence' | 'settled';
  readonly ok: boolean;
}

export interface InputEnded {
  readonly kind: 'input-ended';
}

export interface Ended {
  readonly kind: 'ended';
  readonly exit: Exit;
}

/** The server did not exit in time after the end of its input and was killed. */
export interface Overdue {
  readonly kind: 'overdue';
}

export type Happening =
  | PlayedLine
  | Received
  | Answered
  | Over
  | Waited
  | InputEnded
  | Ended
  | Overdue;

/** A request sent by the client, with its position in the trace. */
export interface TracedRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  readonly at: number;
  readonly move: MoveType | undefined;
}

/** A message sent by the server, with its position in the trace. */
export interface TracedMessage {
  readonly message: JsonObject;
  readonly at: number;
}

export class Trace {
  readonly happenings: readonly Happening[];
  /** The client's requests, by id key. */
  readonly clientRequests: ReadonlyMap<string, TracedRequest>;
  readonly serverMessages: readonly TracedMessage[];

  constructor(happenings: readonly Happening[]) {
    this.happenings = happenings;
    const clientRequests = new Map<string, TracedRequest>();
    const serverMessages: TracedMessage[] = [];
    for (const [at, happening] of happenings.entries()) {
      if (happening.kind === 'sent') {
        for (const message of messagesIn(happening.value)) {
          const { id, method, params } = message;
          if (!isMessageId(id) || typeof method !== 'string') continue;
          const { move } = happening;
          clientRequests.set(idKey(id), {
            id,
            method,
            params: isJsonObject(params) ? params : {},
            at,
            move,
          });
        }
      } else if (happening.kind === 'received') {
        for (const message of messagesIn(happening.value)) serverMessages.push({ message, at });
      }
    }
    this.clientRequests = clientRequests;
    this.serverMessages = serverMessages;
  }

  /** The trace before the first line that no client may send. */
  get polite(): Trace {
    const first = this.happenings.findIndex((one) => one.kind === 'sent' && one.impolite);
    return first === -1 ? this : new Trace(this.happenings.slice(0, first));
  }

  get responses(): readonly TracedMessage[] {
    return this.serverMessages.filter(({ message }) => !('method' in message));
  }

  /** The server's requests and notifications. */
  get calls(): readonly TracedMessage[] {
    return this.serverMessages.filter(({ message }) => typeof message['method'] === 'string');
  }

  get requests(): readonly TracedMessage[] {
    return this.calls.filter(({ message }) => 'id' in message);
  }

  notifications(method: string): readonly TracedMessage[] {
    return this.calls.filter(({ message }) => message['method'] === method && !('id' in message));
  }

  /** Answers to a request. */
  answersTo(id: RequestId): readonly TracedMessage[] {
    return this.responses.filter(({ message }) => message['id'] === id);
  }

  /** Requests that these moves sent. */
  of(...moves: readonly MoveType[]): readonly TracedRequest[] {
    return [...this.clientRequests.values()].filter(({ move }) => move && moves.includes(move));
  }

  /** Positions at which a move sent something. */
  places(move: MoveType): readonly number[] {
    return [...this.happenings.entries()].flatMap(([at, one]) =>
      one.kind === 'sent' && one.move === move ? [at] : [],
    );
  }

  /** Answered HTTP exchanges, in the order of their answers. */
  get exchanges(): readonly ObservedExchange[] {
    return this.happenings.flatMap((one) => (one.kind === 'answered' ? [one.exchange] : []));
  }

  /** The HTTP exchange that carried a request. */
  exchangeOf(id: RequestId): ObservedExchange | undefined {
    return this.exchanges.find((exchange) => asks(exchange, id));
  }

  /** The exchange that carried a request and ended without its answer during the play. */
  refusalOf(id: RequestId): ObservedExchange | undefined {
    if (this.answersTo(id).length > 0) return undefined;
    for (const one of this.happenings) {
      if (one.kind === 'input-ended') return undefined;
      if (one.kind === 'over' && one.exchange.outcome !== 'closed' && asks(one.exchange, id)) {
        return one.exchange;
      }
    }
    return undefined;
  }

  /** True if a wait succeeded between two positions. */
  waitedBetween(from: number, to: number): boolean {
    return this.happenings.slice(from, to).some((one) => one.kind === 'waited' && one.ok);
  }

  /** The last wait for all answers; undefined if there was none. */
  get settled(): { readonly at: number; readonly ok: boolean } | undefined {
    const at = this.happenings.findLastIndex(
      (one) => one.kind === 'waited' && one.for === 'settled',
    );
    const waited = this.happenings[at];
    return waited?.kind === 'waited' ? { at, ok: waited.ok } : undefined;
  }

  /** The server's end, if it came before the end of its input. */
  get earlyEnd(): (Ended & { readonly at: number }) | undefined {
    for (const [at, one] of this.happenings.entries()) {
      if (one.kind === 'input-ended' || one.kind === 'overdue') return undefined;
      if (one.kind === 'ended') return { ...one, at };
    }
    return undefined;
  }

  /** Positions of the client's cancellations, by id key. */
  get cancelled(): ReadonlyMap<string, number> {
    const cancelled = new Map<string, number>();
    for (const [at, one] of this.happenings.entries()) {
      if (one.kind !== 'sent') continue;
      for (const { method, params } of messagesIn(one.value)) {
        if (method !== Method.cancelled || !isJsonObject(params)) continue;
        const key = idKey(params['requestId']);
        if (!cancelled.has(key)) cancelled.set(key, at);
      }
    }
    return cancelled;
  }

  /** The first successful response to initialize. */
  get greeting(): { readonly request: TracedRequest; readonly result: JsonObject } | undefined {
    for (const request of this.clientRequests.values()) {
      if (request.method !== Method.initialize) continue;
      const result = this.answersTo(request.id)[0]?.message['result'];
      if (isJsonObject(result)) return { request, result };
    }
    return undefined;
  }

  /** The first successful response to server/discover. */
  get discovered(): JsonObject | undefined {
    for (const { id, method } of this.clientRequests.values()) {
      if (method !== Method.discover) continue;
      const result = this.answersTo(id)[0]?.message['result'];
      if (isJsonObject(result)) return result;
    }
    return undefined;
  }

  /** Capabilities of the server. */
  get declared(): JsonObject | undefined {
    const capabilities = (this.greeting?.result ?? this.discovered)?.['capabilities'];
    return isJsonObject(capabilities) ? capabilities : undefined;
  }

  /** Capabilities declared by the client. */
  get offered(): JsonObject | undefined {
    const request = [...this.clientRequests.values()].find(
      ({ method }) => method === Method.initialize,
    );
    const capabilities = request?.params['capabilities'];
    return isJsonObject(capabilities) ? capabilities : undefined;
  }
}

/** Describes an exit. */
export function formatExit({ code, signal, failure }: Exit): string {
  if (failure !== undefined) return `(${failure})`;
  return signal === null ? `with code ${code}` : `by ${signal}`;
}
