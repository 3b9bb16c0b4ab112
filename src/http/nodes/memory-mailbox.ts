import type {
  Delivery,
  Hold,
  Letter,
  Mailbox,
  MailboxListener,
  Notice,
  PushLimits,
  Taken,
} from './mailbox.ts';
import { ownerOf } from './names.ts';
import { PushBox } from './push-box.ts';

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

  notify(node: string, notice: Notice): void {
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
    box?.recoverUnless((stream) => this.isAlive(ownerOf(stream)));
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
      const previous = ownerOf(holder);
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
        this.#office.notify(ownerOf(stream), { kind: 'pushes.waiting', session, stream });
      }
      return;
    }
    for (const node of this.#office.membersOf(session)) {
      if (node !== except) this.#office.notify(node, { kind: 'hold.free', session });
    }
  }
}
