/** One request of ours to the client, from its asking to its end. */
import type { ClientRequest } from '../../machines/session-ports.ts';
import type { RequestId } from '../../protocol/frames.ts';
import { Expiring } from './deadline-queue.ts';
import type { RequestIds } from './request-ids.ts';

/** A pending request as the snapshot's `view` shows it. Times are the clock's milliseconds. */
export interface PendingRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly sentAt: number;
  readonly dueAt: number;
  /** Whether the client can know of it: before the gate is open it is held. */
  readonly state: 'held' | 'sent';
  /** Whose it is: what `relatedTo` of the request says, and its `meta` for a task's. */
  readonly request: Pick<ClientRequest, 'relatedTo' | 'meta'>;
}

/** A request of ours while it is pending: correlation finds it by its number. */
export class Pending extends Expiring implements PendingRequest {
  readonly number: number;
  readonly request: ClientRequest;
  readonly sentAt: number;
  override readonly inBackground: boolean;
  state: PendingRequest['state'] = 'held';
  readonly #ids: RequestIds;

  constructor(ids: RequestIds, request: ClientRequest, sentAt: number) {
    super();
    this.#ids = ids;
    this.number = ids.next();
    this.request = request;
    this.sentAt = sentAt;
    this.inBackground = request.inBackground === true;
  }

  /** Made anew each time: ten thousand that wait need not keep ten thousand texts. */
  get id(): string {
    return this.#ids.of(this.number);
  }

  get method(): string {
    return this.request.method;
  }
}
