/** What happened when a sequence was played: everything that was sent and received, in order, and what can be read from it. */
import { isJsonObject, isRequestId } from '../protocol/classify.ts';
import type { JsonObject, RequestId } from '../protocol/frames.ts';
import { Method } from '../protocol/methods.ts';
import type { MoveType } from './move.ts';
import type { Exit } from './wire.ts';

/** A message, or what is none, that the client sent. */
export interface Sent {
  readonly kind: 'sent';
  readonly text: string;
  /** What it holds; undefined where it is no JSON. */
  readonly value: unknown;
  /** The move that it belongs to; undefined for what the player sends by itself. */
  readonly move: MoveType | undefined;
  /** What no client may send: nothing after it is held against the server's duties. */
  readonly impolite: boolean;
}

/** A line of the server's output. */
export interface Received {
  readonly kind: 'received';
  readonly text: string;
  /** What it holds; undefined where it is no JSON. */
  readonly value: unknown;
}

/** The server was waited for. `ok` is false where it did not come in time, or ended. */
export interface Waited {
  readonly kind: 'waited';
  /** `fence`: until a ping was answered. `settled`: until everything was answered that was owed. */
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

/** The server had not ended in time after its input had, and was killed. */
export interface Overdue {
  readonly kind: 'overdue';
}

export type Happening = Sent | Received | Waited | InputEnded | Ended | Overdue;

/** A request of the client's, with where it stands in the trace. */
export interface Asked {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  readonly at: number;
  readonly move: MoveType | undefined;
}

/** A message of the server's, with where it stands in the trace. */
export interface Heard {
  readonly message: JsonObject;
  readonly at: number;
}

/** `1` and `"1"` are different ids. */
export function idKey(id: unknown): string {
  return JSON.stringify(id) ?? 'missing';
}

export class Trace {
  readonly happenings: readonly Happening[];
  /** The client's requests, by the keys of their ids. */
  readonly asked: ReadonlyMap<string, Asked>;
  readonly heard: readonly Heard[];

  constructor(happenings: readonly Happening[]) {
    this.happenings = happenings;
    const asked = new Map<string, Asked>();
    const heard: Heard[] = [];
    for (const [at, happening] of happenings.entries()) {
      if (happening.kind === 'sent') {
        for (const message of messagesIn(happening.value)) {
          const { id, method, params } = message;
          if (!isRequestId(id) || typeof method !== 'string') continue;
          const { move } = happening;
          asked.set(idKey(id), {
            id,
            method,
            params: isJsonObject(params) ? params : {},
            at,
            move,
          });
        }
      } else if (happening.kind === 'received') {
        for (const message of messagesIn(happening.value)) heard.push({ message, at });
      }
    }
    this.asked = asked;
    this.heard = heard;
  }

  /** Up to the first thing that no client may send. */
  get polite(): Trace {
    const first = this.happenings.findIndex((one) => one.kind === 'sent' && one.impolite);
    return first === -1 ? this : new Trace(this.happenings.slice(0, first));
  }

  get responses(): readonly Heard[] {
    return this.heard.filter(({ message }) => !('method' in message));
  }

  /** Messages of the server's with a method: its requests and notifications. */
  get calls(): readonly Heard[] {
    return this.heard.filter(({ message }) => typeof message['method'] === 'string');
  }

  get requests(): readonly Heard[] {
    return this.calls.filter(({ message }) => 'id' in message);
  }

  notifications(method: string): readonly Heard[] {
    return this.calls.filter(({ message }) => message['method'] === method && !('id' in message));
  }

  /** The answers to a request. */
  answersTo(id: RequestId): readonly Heard[] {
    return this.responses.filter(({ message }) => message['id'] === id);
  }

  /** The client's requests of a move. */
  of(...moves: readonly MoveType[]): readonly Asked[] {
    return [...this.asked.values()].filter(({ move }) => move && moves.includes(move));
  }

  /** Where messages of a move were sent. */
  places(move: MoveType): readonly number[] {
    return [...this.happenings.entries()].flatMap(([at, one]) =>
      one.kind === 'sent' && one.move === move ? [at] : [],
    );
  }

  /** Whether there is a wait that succeeded between two places. */
  waitedBetween(from: number, to: number): boolean {
    return this.happenings.slice(from, to).some((one) => one.kind === 'waited' && one.ok);
  }

  /** Where the wait stands that was for everything; undefined where there was none. */
  get settled(): { readonly at: number; readonly ok: boolean } | undefined {
    const at = this.happenings.findLastIndex(
      (one) => one.kind === 'waited' && one.for === 'settled',
    );
    const waited = this.happenings[at];
    return waited?.kind === 'waited' ? { at, ok: waited.ok } : undefined;
  }

  /** How the server ended before its input did; undefined where it did not. */
  get earlyEnd(): (Ended & { readonly at: number }) | undefined {
    for (const [at, one] of this.happenings.entries()) {
      if (one.kind === 'input-ended' || one.kind === 'overdue') return undefined;
      if (one.kind === 'ended') return { ...one, at };
    }
    return undefined;
  }

  /** What the client has cancelled, by the keys of the ids, with where. */
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

  /** What the server answered initialize with. */
  get greeting(): { readonly request: Asked; readonly result: JsonObject } | undefined {
    for (const request of this.asked.values()) {
      if (request.method !== Method.initialize) continue;
      const result = this.answersTo(request.id)[0]?.message['result'];
      if (isJsonObject(result)) return { request, result };
    }
    return undefined;
  }

  /** What the server declares. */
  get declared(): JsonObject | undefined {
    const capabilities = this.greeting?.result['capabilities'];
    return isJsonObject(capabilities) ? capabilities : undefined;
  }

  /** What the client has declared. */
  get offered(): JsonObject | undefined {
    const request = [...this.asked.values()].find(({ method }) => method === Method.initialize);
    const capabilities = request?.params['capabilities'];
    return isJsonObject(capabilities) ? capabilities : undefined;
  }
}

/** The messages of a line: one, or a batch's. */
export function messagesIn(value: unknown): readonly JsonObject[] {
  return (Array.isArray(value) ? (value as unknown[]) : [value]).filter(isJsonObject);
}

/** The text of an exit, for a person. */
export function exitText({ code, signal }: Exit): string {
  return signal === null ? `with the code ${code}` : `by ${signal}`;
}
