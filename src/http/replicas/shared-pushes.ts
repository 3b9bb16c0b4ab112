/**
 * What a session says that belongs to no request, where it has several nodes: it goes on the newest
 * GET stream, whichever node that is at. The stream that gets it holds the session's pushes.
 *
 * @see MCP 2025-11-25, basic/transports, "Listening for Messages from the Server"
 */
import { tell } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import type { Mailbox, Notice } from '../nodes/mailbox.ts';
import { reportUnavailable } from './unavailable.ts';

/** What a session's streams at this node do for its pushes. */
export interface PushWriter {
  readonly report: HttpReport;
  /**
   * Writes a push, with a line feed at its end, on the newest stream here.
   * @returns false if none is open any more
   */
  writePush(text: string): boolean;
}

/**
 * `none`: no stream is open here. `asking`: the newest one here is about to hold. `elsewhere`: a
 * stream of another node holds, or nobody could be asked.
 */
type Hold =
  | { readonly name: 'none' }
  | { readonly name: 'asking' | 'holding' | 'elsewhere'; readonly stream: string };

const none: Hold = { name: 'none' };

export class SharedPushes {
  readonly #session: string;
  readonly #mailbox: Mailbox;
  readonly #writer: () => PushWriter;
  #hold: Hold = none;

  constructor(session: string, mailbox: Mailbox, writer: () => PushWriter) {
    this.#session = session;
    this.#mailbox = mailbox;
    this.#writer = writer;
  }

  /** Whether what is pushed here goes on a stream of this node. */
  get isHere(): boolean {
    return this.#hold.name === 'asking' || this.#hold.name === 'holding';
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
    const isOurs = this.#hold.name !== 'none' && this.#hold.stream === stream;
    if (!isOurs) return;
    this.#hold = none;
    this.#mailbox
      .release(this.#session, stream)
      .then(() => (next === undefined ? undefined : this.#ask(next, 'ifFree')))
      .catch(reportUnavailable(this.#report, 'The pushes of a session were not released'));
  }

  /** Looks whether they are free: a node that held them may have died without a word. */
  look(): void {
    if (this.#hold.name === 'elsewhere') void this.#ask(this.#hold.stream, 'ifFree');
  }

  /** The store has lost its data: whoever held has to hold again. */
  lapsed(): void {
    if (this.#hold.name !== 'none') void this.#ask(this.#hold.stream, 'ifFree');
  }

  notice({ kind, ...notice }: Exclude<Notice, { kind: 'node.lapsed' }>): void {
    if (this.#hold.name === 'none') return;
    const { stream } = this.#hold;
    if (kind === 'hold.free') return this.look();
    if (!('stream' in notice) || notice.stream !== stream) return;
    if (kind === 'hold.taken') this.#hold = { name: 'elsewhere', stream };
    else void this.#take(stream);
  }

  get #report(): HttpReport {
    return this.#writer().report;
  }

  async #ask(stream: string, how: 'newest' | 'ifFree'): Promise<void> {
    const asking: Hold = { name: 'asking', stream };
    if (how === 'newest') this.#hold = asking;
    try {
      const hold = await this.#mailbox.hold(this.#session, stream, how);
      if (this.#hold.name === 'none' || this.#hold.stream !== stream) return;
      if (hold.kind !== 'held') {
        this.#hold = { name: 'elsewhere', stream };
        return;
      }
      this.#hold = { name: 'holding', stream };
      if (hold.waiting) await this.#take(stream);
    } catch (error) {
      // It writes what this node has to say; the next look finds out whether others have more.
      if (this.#hold === asking) this.#hold = { name: 'elsewhere', stream };
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
        tell(this.#report, 'warning', 'pushes.lost', message);
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
