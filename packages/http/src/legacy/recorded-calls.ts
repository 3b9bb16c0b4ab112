/**
 * Calls of durable tools that an earlier process has begun in a session: each continues on the stream that its client
 * comes back to.
 */
import { encodeFrame } from '../../../../src/protocol/codec.ts';
import { ErrorCode, errorResponse, textOfError } from '../../../../src/protocol/errors.ts';
import type { InboundRequest, OutboundResponse } from '../../../../src/protocol/frames.ts';
import type { Principal } from '../../../../src/protocol/request-origin.ts';
import { digestOf } from '../../../../src/rounds/request-state.ts';
import { callRecordId } from '../../../tasks/src/task-ids.ts';
import type { LoadedTask } from '../../../tasks/src/stored-task.ts';
import type { TaskWorker } from '../../../tasks/src/task-worker.ts';
import type { HttpExchange } from '../http-exchange.ts';
import { StoreUnavailable } from '../nodes/stores.ts';
import type { SessionStream } from './session-stream.ts';

/** The session whose calls are recorded. */
export interface RecallingSession {
  readonly id: string;
  readonly principal: Principal | undefined;
  /** Serves the call of an earlier process again. */
  resumeCall(exchange: HttpExchange, stream: SessionStream, call: InboundRequest): void;
}

/** A stream that its client has come back to, and the last event that the client has. */
interface LeftStream {
  readonly stream: SessionStream;
  readonly number?: number | undefined;
}

export class RecordedCalls {
  readonly #session: RecallingSession;
  readonly #records: Pick<TaskWorker, 'find'>;
  /** Reads of the store, by the names of the streams. */
  readonly #pending = new Map<string, Promise<SessionStream | undefined>>();

  constructor(session: RecallingSession, records: Pick<TaskWorker, 'find'>) {
    this.#session = session;
    this.#records = records;
  }

  /** The id that a call is recorded under. Nobody can guess it who does not know the session. */
  idOf(stream: string): Promise<string> {
    return digestOf([this.#session.id, stream]);
  }

  /**
   * Continues the call of a stream, or delivers its recorded result.
   * @returns the stream; undefined if no call of this principal is recorded for it
   * @throws {StoreUnavailable}
   */
  recall(exchange: HttpExchange, left: LeftStream): Promise<SessionStream | undefined> {
    const { name } = left.stream;
    const pending = this.#pending.get(name);
    if (pending) return pending;
    const recalling = this.#recall(exchange, left).finally(() => this.#pending.delete(name));
    this.#pending.set(name, recalling);
    return recalling;
  }

  async #recall(
    exchange: HttpExchange,
    { stream, number }: LeftStream,
  ): Promise<SessionStream | undefined> {
    const [id] = stream.requestIds ?? [];
    const found = await this.#find(stream.name);
    if (id === undefined || !found || !stream.isOrphaned) return undefined;
    const { call } = found.steps;
    if (found.hasEnded) {
      stream.adopt(number);
      stream.send(
        encodeFrame({ ...(found.response ?? abandoned), id }, () => {}),
        true,
      );
      stream.end('answered');
    } else if (call) {
      stream.adopt(number);
      const { params, size } = call;
      this.#session.resumeCall(exchange, stream, {
        ...{ kind: 'request', id, method: 'tools/call', params, size },
      });
    } else return undefined;
    return stream;
  }

  async #find(stream: string): Promise<LoadedTask | undefined> {
    const taskId = callRecordId(await this.idOf(stream));
    try {
      const found = await this.#records.find(taskId);
      return found?.principal === (this.#session.principal?.id ?? null) ? found : undefined;
    } catch (cause) {
      const message = `the recorded calls cannot be read: ${textOfError(cause)}`;
      throw new StoreUnavailable('away', message, { retryAfterMs: 1000, cause });
    }
  }
}

/** Takes the place of the response to a call that was cancelled while its client was away. */
const abandoned: OutboundResponse = errorResponse(undefined, {
  code: ErrorCode.serverUnavailable,
  message: 'The call was cancelled: its client stayed away for too long',
  data: { reason: 'cancelled', retryable: true },
});
