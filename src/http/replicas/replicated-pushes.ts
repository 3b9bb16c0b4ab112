/**
 * What a session says that belongs to no request, if it has several nodes: it goes on the newest
 * GET stream, whichever node that is at. The stream that gets it holds the session's pushes.
 *
 * @see MCP 2025-11-25, basic/transports, "Listening for Messages from the Server"
 */
import { reportInWords } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import { pushHoldChart } from '../../machines/push-hold.machine.ts';
import type { PushHoldEvent } from '../../machines/push-hold.machine.ts';
import type { Mailbox, MailboxNotice } from '../nodes/mailbox.ts';
import { reportUnavailable } from './unavailable.ts';

/** What a session's streams at this node do for its pushes. */
export interface PushWriter {
  readonly report: HttpReport;
  /**
   * Writes a push, with a line feed at its end, on the newest stream here.
   * @returns false if none is open
   */
  writePush(text: string): boolean;
}

export class ReplicatedPushes {
  readonly #session: string;
  readonly #mailbox: Mailbox;
  readonly #writer: () => PushWriter;
  #hold = pushHoldChart.begun;
  /** The newest stream that is open here; undefined if there is none. */
  #stream: string | undefined = undefined;

  constructor(session: string, mailbox: Mailbox, writer: () => PushWriter) {
    this.#session = session;
    this.#mailbox = mailbox;
    this.#writer = writer;
  }

  /** Whether what is pushed here goes on a stream of this node. */
  get isHere(): boolean {
    return this.#hold.hasTag('here');
  }

  /** Keeps a push for the stream that holds. @param lost it could not be kept */
  push(text: string, lost: () => void): void {
    this.#mailbox.push(this.#session, text.trimEnd()).catch((error: unknown) => {
      reportUnavailable(this.#report, 'A message for the client was lost')(error);
      lost();
    });
  }

  opened(stream: string): void {
    void this.#ask(stream, 'newest');
  }

  /** A stream was closed. @param next the newest that is still open here */
  closed(stream: string, next: string | undefined): void {
    if (this.#stream !== stream) return;
    this.#stream = undefined;
    this.#move({ type: 'stream.closed' });
    this.#mailbox
      .release(this.#session, stream)
      .then(() => (next === undefined ? undefined : this.#ask(next, 'ifFree')))
      .catch(reportUnavailable(this.#report, 'The pushes of a session were not released'));
  }

  /** Looks whether they are free: a node that held them may have died without a word. */
  look(): void {
    if (this.#hold.value === 'elsewhere') this.#askAgain();
  }

  /** The store may have lost its data: asks for the pushes again, if no other node has them. */
  lapsed(): void {
    this.#askAgain();
  }

  notice({ kind, ...notice }: Exclude<MailboxNotice, { kind: 'node.lapsed' }>): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    if (kind === 'hold.free') return this.look();
    if (!('stream' in notice) || notice.stream !== stream) return;
    if (kind === 'hold.taken') this.#move({ type: 'hold.taken' });
    else void this.#take(stream);
  }

  #askAgain(): void {
    if (this.#stream !== undefined) void this.#ask(this.#stream, 'ifFree');
  }

  #move(event: PushHoldEvent): void {
    this.#hold = pushHoldChart.next(this.#hold, event);
  }

  get #report(): HttpReport {
    return this.#writer().report;
  }

  async #ask(stream: string, how: 'newest' | 'ifFree'): Promise<void> {
    if (how === 'newest') {
      this.#stream = stream;
      this.#move({ type: 'stream.opened' });
    }
    try {
      const hold = await this.#mailbox.hold(this.#session, stream, how);
      if (this.#stream !== stream) return;
      this.#move({ type: hold.kind === 'held' ? 'hold.granted' : 'hold.taken' });
      if (hold.kind === 'held' && hold.waiting) await this.#take(stream);
    } catch (error) {
      // The stream has what this node says. The next look finds out whether others have more.
      if (how === 'newest' && this.#stream === stream) this.#move({ type: 'hold.failed' });
      reportUnavailable(this.#report, 'The pushes of a session are not shared')(error);
    }
  }

  async #take(stream: string): Promise<void> {
    try {
      const taken = await this.#mailbox.take(this.#session, stream);
      if (taken.kind === 'notHolder') return;
      const { texts, dropped } = taken;
      if (dropped > 0) {
        const message = `Dropped ${dropped} messages that waited for a stream of the client's: too many waited`;
        reportInWords(this.#report, 'warning', 'pushes.lost', message);
      }
      const told = new Set<string>();
      for (const text of texts) {
        // Each node tells that a list has changed: once is enough.
        if (told.has(text)) continue;
        if (isListChange(text)) told.add(text);
        // What was not written waits again once the stream's hold is released.
        if (!this.#writer().writePush(`${text}\n`)) return;
      }
      if (texts.length > 0) await this.#mailbox.written(this.#session, stream, texts.length);
    } catch (error) {
      reportUnavailable(this.#report, 'What waits for the client was not fetched')(error);
    }
  }
}

function isListChange(text: string): boolean {
  return /"method":"notifications\/[a-z]+\/list_changed"/.test(text);
}
