/**
 * The sessions that this node serves together with others: what it tells the store of them from
 * time to time, and what the other nodes tell it.
 */
import type { Clock } from '../../actors/clock.ts';
import type { SessionEnvironment } from '../../session/session-environment.ts';
import { reportInWords } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import type { Letter, MailboxListener, MailboxNotice } from '../nodes/mailbox.ts';
import type { SessionRecord } from '../nodes/session-store.ts';
import type { Stores } from '../nodes/stores.ts';
import { ReplicatedSession } from './replicated-session.ts';
import type { SharingHome } from './replicated-session.ts';
import { reportUnavailable } from './unavailable.ts';

export interface SharingOptions {
  readonly clock: Clock;
  readonly report: HttpReport;
  /** How often the store hears which sessions are in use, milliseconds. */
  readonly touchMs: number;
  /** Whether a session was used in the last `sinceMs`, or has a stream or a call. */
  isUsed(session: ReplicatedSession, sinceMs: number): boolean;
}

export class ReplicatedSessions implements SharingHome, MailboxListener {
  readonly stores: Stores;
  readonly #options: SharingOptions;
  readonly #held = new Map<string, ReplicatedSession>();
  /** What leaves for the store. */
  readonly #leaving = new Set<Promise<unknown>>();
  #serial = 0;
  #timer: unknown = undefined;

  constructor(stores: Stores, options: SharingOptions) {
    this.stores = stores;
    this.#options = options;
    stores.mailbox.listen(this);
    this.#timer = this.#next();
  }

  get report(): HttpReport {
    return this.#options.report;
  }

  nextSerial(): number {
    return ++this.#serial;
  }

  track(done: Promise<unknown>): void {
    this.#leaving.add(done);
    const left = () => this.#leaving.delete(done);
    done.then(left, left);
  }

  /** A session that begins here, or goes on here. */
  hold(
    id: string,
    principalId: string | undefined,
    environment: SessionEnvironment | undefined,
  ): ReplicatedSession {
    const session = new ReplicatedSession(id, principalId, this, environment);
    this.#held.set(id, session);
    return session;
  }

  /**
   * What the store has of a session, for a replica that is made at once.
   * @throws {StoreUnavailable}
   */
  async find(id: string, principalId: string | undefined): Promise<SessionRecord | undefined> {
    const { sessions, mailbox } = this.stores;
    const found = await sessions.load(id);
    if (!found || found.principal !== principalId) return undefined;
    // From here on it hears of changes: what it loads is not missing any.
    await mailbox.join(id);
    const record = await sessions.load(id);
    if (!record) await mailbox.leave(id);
    return record;
  }

  /** The replica of a session is no more. */
  forget(session: ReplicatedSession): void {
    if (this.#held.get(session.id) === session) this.#held.delete(session.id);
  }

  async verify(session: ReplicatedSession): Promise<void> {
    await this.#touch([session]);
  }

  evicted(ids: readonly string[]): void {
    const { events, mailbox } = this.stores;
    for (const id of ids) {
      this.#held.get(id)?.end();
      const letter: Letter = { kind: 'removed', session: id, reason: 'evicted' };
      const message = `The session ${id} was ended: another one needed its place`;
      reportInWords(this.report, 'info', 'session.evicted', message);
      Promise.all([events.forget(id), mailbox.broadcast(letter)])
        .then(() => mailbox.forget(id))
        .catch(reportUnavailable(this.report, 'Nodes were not told that a session was evicted'));
    }
  }

  letter(letter: Letter): void {
    this.#held.get(letter.session)?.letter(letter);
  }

  notice(notice: MailboxNotice): void {
    if (notice.kind !== 'node.lapsed') {
      return this.#held.get(notice.session)?.pushes.notice(notice);
    }
    const sessions = [...this.#held.values()];
    this.#touch(sessions)
      .then(() => {
        for (const { pushes } of sessions) pushes.lapsed();
      })
      .catch(reportUnavailable(this.report, 'Sessions were not looked after'));
  }

  /** Leaves the other nodes. */
  async close(): Promise<void> {
    this.#options.clock.clearTimeout(this.#timer);
    await Promise.allSettled(this.#leaving);
    await this.stores.close();
  }

  #next(): unknown {
    const { clock, touchMs } = this.#options;
    return clock.setTimeout(() => {
      this.#sweep();
      this.#timer = this.#next();
    }, touchMs);
  }

  #sweep(): void {
    const { touchMs } = this.#options;
    const sessions = [...this.#held.values()];
    for (const { pushes } of sessions) pushes.look();
    const used = sessions.filter((session) => this.#options.isUsed(session, touchMs));
    const failed = reportUnavailable(this.report, 'The store was not told which sessions are used');
    this.#touch(used).catch(failed);
  }

  async #touch(touched: readonly ReplicatedSession[]): Promise<void> {
    const sessions = touched.filter(({ isOver, version }) => !isOver && version > 0);
    if (sessions.length === 0) return;
    const { gone, changed, lost } = await this.stores.sessions.touch(sessions);
    for (const id of gone) this.#held.get(id)?.end();
    const failed = reportUnavailable(this.report, 'A replica is behind');
    for (const id of changed) this.#held.get(id)?.refresh().catch(failed);
    await Promise.all(
      lost.flatMap((id) => {
        const session = this.#held.get(id);
        return session ? [this.#restore(session)] : [];
      }),
    );
  }

  async #restore(session: ReplicatedSession): Promise<void> {
    await this.stores.sessions.restore(session.record);
    await this.stores.mailbox.join(session.id);
  }
}
