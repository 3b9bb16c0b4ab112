import type {
  Delivery,
  Hold,
  Letter,
  Mailbox,
  MailboxListener,
  MailboxNotice,
  PushLimits,
  Taken,
} from './mailbox.ts';
import { writerOf } from './names.ts';

/** The nodes of one process, and what is between them. */
export class PostOffice {
  readonly #limits: PushLimits;
  /** Those that live. */
  readonly #nodes = new Map<string, MailboxListener>();
  readonly #members = new Map<string, Set<string>>();
  readonly #boxes = new Map<string, PushBox>();

  constructor(limits: PushLimits) {
    this.#limits = limits;
  }

  isAlive(node: string): boolean {
    return this.#nodes.has(node);
  }

  enter(node: string, listener: MailboxListener): void {
    this.#nodes.set(node, listener);
  }

  leave(node: string): void {
    this.#nodes.delete(node);
    for (const session of [...this.#members.keys()]) this.withdraw(session, node);
  }

  enrol(session: string, node: string): void {
    const members = this.#members.get(session);
    if (members) members.add(node);
    else this.#members.set(session, new Set([node]));
  }

  withdraw(session: string, node: string): void {
    const members = this.#members.get(session);
    if (members?.delete(node) === true && members.size === 0) this.#members.delete(session);
  }

  membersOf(session: string): readonly string[] {
    return [...(this.#members.get(session) ?? [])];
  }

  listener(node: string): MailboxListener | undefined {
    return this.#nodes.get(node);
  }

  notify(node: string, notice: MailboxNotice): void {
    this.#nodes.get(node)?.notice(notice);
  }

  /**
   * The pushes of a session, without what dead nodes had of them. Undefined if no node has a replica
   * and nothing has been kept.
   */
  box(session: string): PushBox | undefined {
    let box = this.#boxes.get(session);
    if (!box && this.#members.has(session)) {
      this.#boxes.set(session, (box = new PushBox(this.#limits)));
    }
    box?.recoverUnless((stream) => this.isAlive(writerOf(stream)));
    return box;
  }

  forget(session: string): void {
    this.#boxes.delete(session);
    this.#members.delete(session);
  }
}

/** One node's mailbox between the nodes of one process. */
export class MemoryMailbox implements Mailbox {
  readonly #node: string;
  readonly #office: PostOffice;

  constructor(node: string, office: PostOffice) {
    this.#node = node;
    this.#office = office;
  }

  listen(listener: MailboxListener): void {
    this.#office.enter(this.#node, listener);
  }

  async join(session: string): Promise<void> {
    this.#office.enrol(session, this.#node);
  }

  async leave(session: string): Promise<void> {
    this.#office.withdraw(session, this.#node);
  }

  async send(node: string, letter: Letter): Promise<Delivery> {
    const listener = this.#office.listener(node);
    listener?.letter(letter);
    return { kind: listener ? 'received' : 'gone' };
  }

  async broadcast(letter: Letter): Promise<void> {
    for (const node of this.#office.membersOf(letter.session)) {
      if (node !== this.#node) this.#office.listener(node)?.letter(letter);
    }
  }

  async hold(session: string, stream: string, how: 'newest' | 'ifFree'): Promise<Hold> {
    const box = this.#office.box(session);
    if (!box) return { kind: 'gone' };
    const { holder } = box;
    if (holder !== undefined && holder !== stream) {
      if (how === 'ifFree') return { kind: 'taken', by: holder };
      const previous = writerOf(holder);
      if (previous !== this.#node) {
        this.#office.notify(previous, { kind: 'hold.taken', session, stream: holder });
      }
    }
    box.holder = stream;
    return { kind: 'held', waiting: box.hasWaiting };
  }

  async release(session: string, stream: string): Promise<void> {
    const box = this.#office.box(session);
    if (!box) return;
    box.recover(stream);
    this.#tellWaiting(session, box, this.#node);
  }

  async push(session: string, text: string): Promise<void> {
    const box = this.#office.box(session);
    if (!box) return;
    box.add(text);
    this.#tellWaiting(session, box);
  }

  async take(session: string, stream: string): Promise<Taken> {
    const box = this.#office.box(session);
    if (box?.holder !== stream) return { kind: 'notHolder' };
    return { kind: 'taken', ...box.take(stream) };
  }

  async written(session: string, stream: string, count: number): Promise<void> {
    this.#office.box(session)?.written(stream, count);
  }

  async forget(session: string): Promise<void> {
    this.#office.forget(session);
  }

  #tellWaiting(session: string, box: PushBox, except?: string): void {
    const { holder: stream } = box;
    if (stream !== undefined) {
      if (box.hasWaiting) {
        this.#office.notify(writerOf(stream), { kind: 'pushes.waiting', session, stream });
      }
      return;
    }
    for (const node of this.#office.membersOf(session)) {
      if (node !== except) this.#office.notify(node, { kind: 'hold.free', session });
    }
  }
}

/** The pushes of one session that wait for its client, in memory: who holds them, and what was taken but not yet written. */
export class PushBox {
  readonly #limits: PushLimits;
  #waiting: string[] = [];
  #bytes = 0;
  #dropped = 0;
  readonly #inHand = new Map<string, string[]>();
  /** The stream that gets them. */
  holder: string | undefined;

  constructor(limits: PushLimits) {
    this.#limits = limits;
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  add(text: string): void {
    this.#put([...this.#waiting, text]);
  }

  /** A stream is gone: what was in its hand waits again, before everything else. */
  recover(stream: string): void {
    const texts = this.#inHand.get(stream) ?? [];
    this.#inHand.delete(stream);
    if (this.holder === stream) this.holder = undefined;
    this.#put([...texts, ...this.#waiting]);
  }

  /** Recovers from the streams that are gone. */
  recoverUnless(isThere: (stream: string) => boolean): void {
    const streams = new Set([
      ...this.#inHand.keys(),
      ...(this.holder === undefined ? [] : [this.holder]),
    ]);
    for (const stream of streams) if (!isThere(stream)) this.recover(stream);
  }

  take(stream: string): { readonly texts: readonly string[]; readonly dropped: number } {
    const [texts, dropped] = [this.#waiting, this.#dropped];
    const inHand = this.#inHand.get(stream) ?? [];
    if (texts.length > 0) this.#inHand.set(stream, [...inHand, ...texts]);
    [this.#waiting, this.#bytes, this.#dropped] = [[], 0, 0];
    return { texts, dropped };
  }

  written(stream: string, count: number): void {
    const rest = this.#inHand.get(stream)?.slice(count) ?? [];
    if (rest.length > 0) this.#inHand.set(stream, rest);
    else this.#inHand.delete(stream);
  }

  #put(texts: string[]): void {
    this.#waiting = texts;
    this.#bytes = texts.reduce((sum, { length }) => sum + length, 0);
    const { maxPushes, maxPushBytes } = this.#limits;
    while (this.#waiting.length > maxPushes || this.#bytes > maxPushBytes) {
      this.#bytes -= this.#waiting.shift()?.length ?? 0;
      this.#dropped++;
    }
  }
}
