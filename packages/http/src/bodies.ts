/**
 * Request bodies in progress. Received bytes are limited per client and in total, and each body
 * must finish in time.
 */
import { maxClientsAtLimit } from '../../../src/actors/limits.ts';
import type { Clock } from '../../../src/actors/clock.ts';
import type { HttpLimits } from './options.ts';
import { notListed } from './maintenance.ts';
import type { Maintained, Maintenance } from './maintenance.ts';

/** The error response for a body that was not read. */
export interface BodyRefusal {
  readonly ok: false;
  readonly status: number;
  readonly message: string;
  readonly headers?: { readonly [name: string]: string };
}

/** Settings shared by all bodies of an endpoint. */
export interface BodiesContext {
  readonly clock: Clock;
  readonly limits: Pick<HttpLimits, 'maxBodyBytes' | 'maxUnfinishedBytes' | 'bodyTimeoutMs'>;
  readonly maintenance: Maintenance;
}

/** Unfinished bodies of one client. */
interface Sender {
  bytes: number;
  bodies: number;
}

export class Bodies {
  readonly #endpoint: BodiesContext;
  readonly #unfinished = new Map<ReceivedBody, Sender>();
  readonly #senders = new Map<string, Sender>();
  #bytes = 0;

  constructor(endpoint: BodiesContext) {
    this.#endpoint = endpoint;
  }

  /**
   * Starts reading a body.
   *
   * @param clientKey quota key that the bytes count towards
   * @param refused called once if the body is rejected
   */
  open(clientKey: string, refused: (refusal: BodyRefusal) => void): ReceivedBody {
    return new ReceivedBody(clientKey, refused, this, this.#endpoint);
  }

  /** Counts bytes of an unfinished body, and rejects a body if there are too many. */
  addBytes(body: ReceivedBody, bytes: number): void {
    const { clientKey } = body;
    const sender = this.#senders.get(clientKey) ?? { bytes: 0, bodies: 0 };
    this.#senders.set(clientKey, sender);
    if (!this.#unfinished.has(body)) sender.bodies++;
    this.#unfinished.set(body, sender);
    sender.bytes += bytes;
    this.#bytes += bytes;
    const { maxUnfinishedBytes, maxBodyBytes } = this.#endpoint.limits;
    if (sender.bytes > maxUnfinishedBytes && sender.bodies > 1) {
      const message = `This client has ${sender.bytes} bytes of unfinished bodies, more than the limit of ${maxUnfinishedBytes}; try again later`;
      return body.refuse(busy(message));
    }
    if (this.#bytes <= Math.max(maxClientsAtLimit * maxUnfinishedBytes, maxBodyBytes)) return;
    const message = 'Too many bytes of unfinished bodies; try again later';
    this.#largest()?.refuse(busy(message));
  }

  /** Stops counting a body that is complete or was abandoned. */
  remove(body: ReceivedBody, bytes: number): void {
    const sender = this.#unfinished.get(body);
    if (!sender) return;
    this.#unfinished.delete(body);
    this.#bytes -= bytes;
    sender.bytes -= bytes;
    if (--sender.bodies === 0) this.#senders.delete(body.clientKey);
  }

  /** The body to evict: the largest of the heaviest client. */
  #largest(): ReceivedBody | undefined {
    let largest: ReceivedBody | undefined;
    let most = 0;
    for (const [body, { bytes }] of this.#unfinished) {
      if (bytes < most || (bytes === most && body.length <= (largest?.length ?? 0))) continue;
      [largest, most] = [body, bytes];
    }
    return largest;
  }
}

export class ReceivedBody implements Maintained {
  listIndex = notListed;
  readonly clientKey: string;
  readonly #onRefused: (refusal: BodyRefusal) => void;
  readonly #bodies: Bodies;
  readonly #endpoint: BodiesContext;
  readonly #startedAt: number;
  /** Grows by doubling, because a body may arrive byte by byte. */
  #bytes: Uint8Array = nothing;
  #length = 0;

  constructor(
    clientKey: string,
    refused: (refusal: BodyRefusal) => void,
    bodies: Bodies,
    endpoint: BodiesContext,
  ) {
    this.clientKey = clientKey;
    this.#onRefused = refused;
    this.#bodies = bodies;
    this.#endpoint = endpoint;
    this.#startedAt = endpoint.clock.now();
    endpoint.maintenance.add(this);
  }

  /** Bytes received. */
  get length(): number {
    return this.#length;
  }

  /**
   * Appends a chunk. May reject this body or another one.
   *
   * @param isLast true for the last chunk
   */
  append(chunk: Uint8Array, isLast: boolean): void {
    if (this.#isClosed) return;
    const { maxBodyBytes } = this.#endpoint.limits;
    const length = this.#length + chunk.length;
    if (length > maxBodyBytes) return this.refuse(bodyTooLong(maxBodyBytes));
    if (this.#length === 0) this.#bytes = chunk;
    else this.#copy(chunk, length);
    this.#length = length;
    if (!isLast) this.#bodies.addBytes(this, chunk.length);
  }

  /** A body stays on the maintenance list until it is closed. */
  get #isClosed(): boolean {
    return this.listIndex === notListed;
  }

  /** Closes the body and returns its bytes. */
  finish(): Uint8Array {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.close();
    return bytes;
  }

  /** Stops reading and releases the bytes. */
  close(): void {
    this.#bodies.remove(this, this.#length);
    this.#endpoint.maintenance.delete(this);
    this.#bytes = nothing;
  }

  refuse(refusal: BodyRefusal): void {
    this.close();
    this.#onRefused(refusal);
  }

  tick(now: number): void {
    const { bodyTimeoutMs } = this.#endpoint.limits;
    if (now - this.#startedAt < bodyTimeoutMs) return;
    const message = `The body was incomplete after ${bodyTimeoutMs} ms`;
    this.refuse({ ok: false, status: 408, message, headers: { connection: 'close' } });
  }

  #copy(chunk: Uint8Array, length: number): void {
    if (length > this.#bytes.length) {
      const longer = new Uint8Array(Math.max(length, 2 * this.#length));
      longer.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = longer;
    }
    this.#bytes.set(chunk, this.#length);
  }
}

const nothing = new Uint8Array(0);

export function bodyTooLong(maxBytes: number): BodyRefusal {
  return { ok: false, status: 413, message: `The body is longer than ${maxBytes} bytes` };
}

function busy(message: string): BodyRefusal {
  return { ok: false, status: 503, message, headers: { 'retry-after': '1' } };
}
