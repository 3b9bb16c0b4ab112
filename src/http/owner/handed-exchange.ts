/**
 * A request that another node has handed to this one, which owns its session: its answer goes back
 * the same way, as fast as the client takes it there.
 */
import { onceAtTurnEnd } from '../../actors/clock.ts';
import { closingChart } from '../../machines/closing.machine.ts';
import type { ClosingEvent } from '../../machines/closing.machine.ts';
import type { Principal } from '../../protocol/request-origin.ts';
import type { Admission } from '../admission.ts';
import type {
  Body,
  ExchangeHome,
  HttpAnswer,
  HttpExchange,
  RequestHead,
} from '../http-exchange.ts';
import { WatchedSink } from '../watched-sink.ts';
import type { SinkOutlet } from '../watched-sink.ts';
import { beginningOf, headNames, lengthOf, windowBytes } from './letters.ts';
import type { AnswerHead, HandedRequest } from './letters.ts';
import type { Peer, Taken } from './peer.ts';

type Headers = { readonly [name: string]: string };

export class HandedExchange implements HttpExchange, Taken {
  readonly pipe: number;
  readonly principal?: Principal;
  readonly admission?: Admission;
  readonly method: string;
  readonly target: string;
  readonly remoteAddress: string | undefined;
  readonly head: RequestHead;
  readonly #headers: readonly string[];
  /** Until it is read: a call may run for long. */
  #body: string;
  readonly #peer: Peer;
  readonly #home: ExchangeHome;
  #added: Headers | undefined = undefined;
  #outlet: FarOutlet | undefined = undefined;
  #isGone = false;
  #gone: (() => void)[] = [];

  constructor(pipe: number, request: HandedRequest, peer: Peer, home: ExchangeHome) {
    const { method, target, remoteAddress, principal, admittedMs } = request;
    this.pipe = pipe;
    this.#headers = request.headers;
    this.#body = request.body;
    this.#peer = peer;
    this.#home = home;
    this.method = method;
    this.target = target;
    this.remoteAddress = remoteAddress;
    if (principal) this.principal = principal;
    if (admittedMs !== undefined) {
      const until = home.clock.now() + admittedMs;
      this.admission = { until, endedBy: (now) => (now >= until ? 'expired' : undefined) };
    }
    this.head = request.head;
  }

  header(name: string): string | undefined {
    const inHead = headNames.get(name);
    if (inHead) return this.head[inHead];
    const at = this.#headers.findIndex((text, place) => place % 2 === 0 && text === name);
    return at === -1 ? undefined : this.#headers[at + 1];
  }

  headerNames(): readonly string[] {
    const names = [...headNames.keys()].filter((name) => this.header(name) !== undefined);
    return [...names, ...this.#headers.filter((_, place) => place % 2 === 0)];
  }

  get handedBy(): string {
    return this.#peer.node;
  }

  notHere(): void {
    this.#peer.exchanges.delete(this.pipe);
    this.#peer.post({ kind: 'moved', pipe: this.pipe });
  }

  readBody(done: (body: Body) => void): void {
    const text = this.#body;
    this.#body = '';
    done({ ok: true, text });
  }

  addHeaders(headers: Headers): void {
    this.#added = { ...this.#added, ...headers };
  }

  answer({ status, headers, body = '' }: HttpAnswer): void {
    // The peer drops it once all was said, or its client has gone.
    if (this.#outlet || !this.#peer.exchanges.has(this.pipe)) return;
    const all: Headers = Object.assign({}, this.#added, headers);
    const head = { status, headers: all, isStream: false };
    if (body.length <= windowBytes) {
      this.#peer.exchanges.delete(this.pipe);
      return this.#peer.post({ kind: 'answer', pipe: this.pipe, head, text: body });
    }
    const sink = new WatchedSink(this.#begin(head), this.#home);
    sink.write(body);
    sink.end();
  }

  stream(headers: Headers): WatchedSink {
    const all = { ...this.#added, ...headers };
    const outlet = this.#begin({ status: 200, headers: all, isStream: true });
    outlet.write('');
    return new WatchedSink(outlet, this.#home);
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  onGone(callback: () => void): () => void {
    if (this.#isGone) callback();
    else this.#gone.push(callback);
    return () => {
      this.#gone = this.#gone.filter((other) => other !== callback);
    };
  }

  get parts(): number {
    return this.#outlet?.parts ?? 0;
  }

  taken(bytes: number): void {
    this.#outlet?.taken(bytes);
  }

  left(): void {
    this.#peer.exchanges.delete(this.pipe);
    this.#isGone = true;
    this.#outlet?.left();
    const gone = this.#gone;
    this.#gone = [];
    for (const callback of gone) callback();
  }

  #begin(head: AnswerHead): FarOutlet {
    return (this.#outlet = new FarOutlet(this.pipe, head, this.#peer));
  }
}

/** The way of an answer to the node that its client is connected to. */
class FarOutlet implements SinkOutlet {
  /** That node watches its own connections. */
  readonly isItsTurn = true;
  readonly isFar = true as const;
  readonly #pipe: number;
  readonly #peer: Peer;
  #head: AnswerHead | undefined;
  #waiting = '';
  #waitingBytes = 0;
  /** What has been sent, and how much of it was taken, bytes. */
  #sentBytes = 0;
  #takenBytes = 0;
  /** How many parts have been sent. */
  parts = 0;
  #state = closingChart.begun;

  constructor(pipe: number, head: AnswerHead, peer: Peer) {
    this.#pipe = pipe;
    this.#head = head;
    this.#peer = peer;
  }

  get #isOver(): boolean {
    return this.#state.status === 'done';
  }

  #move(type: ClosingEvent['type']): void {
    this.#state = closingChart.next(this.#state, { type });
  }

  get untakenBytes(): number {
    return this.#isOver ? 0 : this.#waitingBytes + this.#sentBytes - this.#takenBytes;
  }

  write(text: string): number {
    if (this.#isOver) return 0;
    const bytes = lengthOf(text);
    this.#waiting += text;
    this.#waitingBytes += bytes;
    onceAtTurnEnd(this.#send);
    return bytes;
  }

  end(): void {
    if (this.#isOver) return;
    this.#move('close.begin');
    this.#send();
  }

  cut(): void {
    if (this.#isOver) return;
    this.left();
    this.#peer.exchanges.delete(this.#pipe);
    this.#peer.post({ kind: 'cut', pipe: this.#pipe });
  }

  taken(bytes: number): void {
    this.#takenBytes = bytes;
    this.#send();
  }

  left(): void {
    this.#move('close.done');
    this.#waiting = '';
  }

  readonly #send = (): void => {
    if (this.#isOver) return;
    const head = this.#head;
    const text = this.#piece(windowBytes - (this.#sentBytes - this.#takenBytes));
    if (text === '' && this.#waiting !== '') return;
    const isLast = this.#state.value === 'closing' && this.#waiting === '';
    if (!head && text === '' && !isLast) return;
    this.#head = undefined;
    const pipe = this.#pipe;
    this.#peer.post({
      kind: 'part',
      pipe,
      number: ++this.parts,
      text,
      ...(head && { head }),
      ...(isLast && { isLast }),
    });
    // The rest is that node's to watch.
    if (!isLast) return this.#waiting === '' ? undefined : this.#send();
    this.#move('close.done');
    this.#peer.exchanges.delete(pipe);
  };

  /** As much of what waits as there is room for. */
  #piece(room: number): string {
    const whole = this.#waiting;
    const bytes = this.#waitingBytes;
    const all = { read: whole.length, written: bytes };
    const { read, written } = bytes <= room ? all : beginningOf(whole, room);
    this.#waiting = whole.slice(read);
    this.#waitingBytes -= written;
    this.#sentBytes += written;
    return whole.slice(0, read);
  }
}
