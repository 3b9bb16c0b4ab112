/**
 * A request whose session another node owns: it is handed to that node, and what comes back is
 * copied to its connection here.
 */
import type { Clock } from '../../actors/clock.ts';
import { defaultLimits } from '../../actors/limits.ts';
import { isJsonObject, isRequestId } from '../../protocol/classify.ts';
import { decodeLine } from '../../protocol/codec.ts';
import type { InboundFrame, RequestId } from '../../protocol/frames.ts';
import { endInWords } from '../admission.ts';
import type { Admission, AdmissionEnd } from '../admission.ts';
import { fault } from '../checks.ts';
import { reportInWords } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import { isSecret } from '../http-exchange.ts';
import type { HttpAnswer, HttpExchange } from '../http-exchange.ts';
import { StoreUnavailable } from '../nodes/stores.ts';
import { unlisted } from '../upkeep.ts';
import type { Tended, Upkeep } from '../upkeep.ts';
import type { SinkOwner, WatchedSink } from '../watched-sink.ts';
import { headNames, lengthOf, windowBytes } from './letters.ts';
import type { AnswerHead, HandedRequest, Letter } from './letters.ts';
import type { Handed, Peer } from './peer.ts';
import { processEnded, unavailable } from './unavailable.ts';

/** What is handed on. */
export interface Handing {
  readonly exchange: HttpExchange;
  /** What was posted; empty for other requests. */
  readonly body: string;
  /** Whether the message in it is answered here, and not on another stream. */
  readonly isAnswered: boolean;
  /** When it came, the clock's milliseconds; undefined if it comes now. */
  readonly sinceMs: number | undefined;
  /** It is unserved, and another node may have the session by now. */
  again(sinceMs: number): void;
}

export interface PassageHome {
  readonly clock: Clock;
  readonly upkeep: Upkeep;
  readonly report: HttpReport;
  readonly limits: { readonly retryMs: number };
}

/** How long another node may take to read a request, milliseconds: it may be busy, or stopped. */
const handTimeoutMs = 5000;

/** How soon it is tried again to find out who has the session, milliseconds. */
const againMs = 50;

/** How soon it is looked again whether a client has taken what has come, milliseconds. */
const takenMs = 5;

/** How much may be taken before the other node is told, bytes. */
const untoldBytes = windowBytes / 4;

export class Passage implements Handed, Tended, SinkOwner {
  place = unlisted;
  readonly pipe: number;
  sentTo: Handed['sentTo'] = undefined;
  readonly #handing: Handing;
  readonly #sinceMs: number;
  readonly #peer: Peer;
  readonly #home: PassageHome;
  /** When the other node should have read it; `Infinity` once it has. */
  #readBy: number;
  /** The connection, once the answer is a stream. */
  #sink: WatchedSink | undefined = undefined;
  /** An answer in JSON, until all of it is there. */
  #head: AnswerHead | undefined = undefined;
  #body = '';
  /** How many parts have come. */
  #parts = 0;
  /** Bytes that have come, and how many of them the other node knows to be taken. */
  #come = 0;
  #told = 0;
  #timer: unknown = undefined;
  /** Who leaves later has left another passage, if the request is handed on again. */
  #unwatch: () => void = () => {};
  #awaited: Promise<void> | undefined = undefined;
  #settle: (() => void) | undefined = undefined;

  constructor(pipe: number, handing: Handing, peer: Peer, home: PassageHome) {
    const { exchange } = handing;
    const now = home.clock.now();
    this.pipe = pipe;
    this.#handing = handing;
    this.#sinceMs = handing.sinceMs ?? now;
    this.#peer = peer;
    this.#home = home;
    this.#readBy = now + handTimeoutMs;
    peer.passages.set(pipe, this);
    home.upkeep.add(this);
    peer.post({ kind: 'request', pipe, request: handedRequest(handing, now) });
    this.#unwatch = exchange.onGone(() => this.#leave());
  }

  get over(): Promise<void> {
    return (this.#awaited ??= new Promise((resolve) => {
      this.#settle = resolve;
    }));
  }

  answer({ head: { status, headers }, text }: Extract<Letter, { kind: 'answer' }>): void {
    if (!this.#over()) return;
    this.#handing.exchange.answer(
      text === '' ? { status, headers } : { status, headers, body: text },
    );
  }

  part({ number, head, text, isLast }: Extract<Letter, { kind: 'part' }>): void {
    this.#readBy = Infinity;
    if (number !== ++this.#parts) return this.#lack();
    if (head?.isStream) {
      this.#sink = this.#handing.exchange.stream(head.headers);
      this.#sink.ownedBy(this);
    } else if (head) this.#head = head;
    if (!this.#sink) this.#body += text;
    else if (text !== '') this.#sink.write(text);
    if (isLast) return this.#finish();
    this.#come += lengthOf(text);
    this.#tell(untoldBytes);
  }

  sent(parts: number | undefined): void {
    if (parts === this.#parts) {
      this.#peer.post({ kind: 'taken', pipe: this.pipe, bytes: this.#told });
      return;
    }
    this.#lack();
  }

  cut(): void {
    if (!this.#over()) return;
    if (this.#sink) this.#sink.cut();
    else this.#handing.exchange.answer(endedAnswer(this.#handing));
  }

  moved(): void {
    if (this.#over()) this.#again();
  }

  refuse(error: unknown): void {
    if (this.#over()) this.#handing.exchange.answer(unavailable(error, this.#home.report));
  }

  async lost(afterMs: number): Promise<void> {
    const { over } = this;
    const isPost = this.#handing.exchange.method === 'POST';
    if (this.#isUnbegun && (!isPost || (await this.#peer.withdraw(this)) === 'withdrawn')) {
      return this.moved();
    }
    if (afterMs > 0) {
      const late = new Promise<void>((resolve) => {
        this.#home.clock.setTimeout(resolve, afterMs);
      });
      await Promise.race([over, late]);
    }
    this.#giveUp();
  }

  close(): void {
    if (this.#handing.exchange.method !== 'GET') return;
    this.#sink?.write(`retry: ${this.#home.limits.retryMs}\n\n`);
    this.#sink?.end();
    this.#leave();
  }

  tend(now: number): void {
    this.#tell(1);
    if (now < this.#readBy) return;
    this.#readBy = Infinity;
    void this.#withdraw(now);
  }

  // What its connection here tells.

  get admission(): Admission | undefined {
    const { method, admission } = this.#handing.exchange;
    return method === 'GET' ? admission : undefined;
  }

  expired(end: AdmissionEnd): void {
    const message = `The token that a stream was opened with ${endInWords[end]}: its client has to come back with another one`;
    reportInWords(this.#home.report, 'info', `authorization.${end}`, message);
    this.close();
  }

  unread(why: string): void {
    const message = `The client was cut off from a stream of another node: it ${why}`;
    reportInWords(this.#home.report, 'warning', 'stream.cut', message);
    this.#sink?.end();
    this.#leave();
  }

  get #isUnbegun(): boolean {
    return !this.#sink && !this.#head;
  }

  /** Letters were lost. */
  #lack(): void {
    this.#peer.post({ kind: 'left', pipe: this.pipe });
    if (this.#isUnbegun && this.#handing.exchange.method !== 'POST') this.moved();
    else this.#giveUp();
  }

  /** What comes of it cannot be known here. The client can resume a stream. */
  #giveUp(): void {
    if (!this.#over()) return;
    if (!this.#sink) return this.#handing.exchange.answer(endedAnswer(this.#handing));
    this.#sink.write(`retry: ${this.#home.limits.retryMs}\n\n`);
    this.#sink.end();
  }

  /** Serves it again, a moment later: the directory may not know yet that the other node has gone. */
  #again(): void {
    const { clock } = this.#home;
    const { exchange, again } = this.#handing;
    const sinceMs = this.#sinceMs;
    if (clock.now() - sinceMs < handTimeoutMs) {
      clock.setTimeout(() => again(sinceMs), againMs);
      return;
    }
    const error = new StoreUnavailable('slow', 'nobody has the session yet', {
      retryAfterMs: 1000,
    });
    exchange.answer(unavailable(error, this.#home.report));
  }

  async #withdraw(now: number): Promise<void> {
    const found = await this.#peer.withdraw(this);
    if (found === 'unknown' && this.#isUnbegun) this.#readBy = now + againMs;
    const message = `the node that has the session has not read the request for ${handTimeoutMs} ms`;
    if (found === 'withdrawn')
      this.refuse(new StoreUnavailable('slow', message, { retryAfterMs: 1000 }));
  }

  #leave(): void {
    if (!this.#over()) return;
    this.#sink?.cut();
    this.#peer.post({ kind: 'left', pipe: this.pipe });
  }

  #finish(): void {
    if (!this.#over()) return;
    if (this.#sink) return this.#sink.end();
    const { status, headers } = this.#head ?? { status: 500, headers: {} };
    const body = this.#body === '' ? {} : { body: this.#body };
    this.#handing.exchange.answer({ status, headers, ...body });
  }

  /** @returns false if it was over before */
  #over(): boolean {
    this.#home.clock.clearTimeout(this.#timer);
    this.#home.upkeep.delete(this);
    this.#unwatch();
    this.#settle?.();
    return this.#peer.passages.delete(this.pipe);
  }

  /** Tells the other node how much was taken, if it is so much. */
  #tell(least: number): void {
    const taken = this.#come - Math.min(this.#come, this.#sink?.untakenBytes ?? 0);
    const bytes = taken - this.#told;
    if (bytes >= least) {
      this.#told = taken;
      this.#peer.post({ kind: 'taken', pipe: this.pipe, bytes: taken });
    }
    if (this.#timer !== undefined || this.#come - this.#told < untoldBytes) return;
    this.#timer = this.#home.clock.setTimeout(() => {
      this.#timer = undefined;
      this.#tell(untoldBytes);
    }, takenMs);
  }
}

function handedRequest({ exchange, body }: Handing, now: number): HandedRequest {
  const { method, target, remoteAddress, principal, admission, head } = exchange;
  const headers: string[] = [];
  for (const name of exchange.headerNames()) {
    if (!isSecret(name) && !headNames.has(name)) headers.push(name, exchange.header(name) ?? '');
  }
  const admittedMs = admission && admission.until < Infinity ? admission.until - now : undefined;
  return { method, target, remoteAddress, principal, admittedMs, head, headers, body };
}

/** For a message whose node has died: whether it was served, nobody knows. */
function endedAnswer({ body: text, isAnswered }: Handing): HttpAnswer {
  const frame = isAnswered ? decodeLine(text, defaultLimits.maxDepth) : undefined;
  const ids = frame ? idsOf(frame) : [];
  if (ids.length === 0) {
    const message = 'The process that has the session has ended; try again';
    return fault(503, message, { 'retry-after': '1' });
  }
  const errors = ids.map(processEnded);
  const body = JSON.stringify(frame?.kind === 'batch' ? errors : errors[0]);
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}

function idsOf(frame: InboundFrame): readonly RequestId[] {
  if (frame.kind === 'request') return [frame.id];
  if (frame.kind !== 'batch') return [];
  return frame.messages.flatMap((message) =>
    isJsonObject(message) && 'method' in message && isRequestId(message['id'])
      ? [message['id']]
      : [],
  );
}
