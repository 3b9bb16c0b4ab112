/** What a session reports: its own facts, and those that its parts declare. */
import type { ActorFactName, Report } from '../actors/facts.ts';
import type { LogFactName } from './context/session-log.ts';
import type { TaskFactName } from './features/session-tasks.ts';
import type { Root } from '../protocol/roots.ts';
import type { SessionEmitted } from '../machines/session.machine.ts';
import type { SessionSnapshot } from '../machines/session-state.ts';
import { stateOf } from '../machines/session-state.ts';
import type { TaskWorkerFactName } from '../../packages/tasks/src/stored-task.ts';
import type { TransportFactName } from '../transports/transport.ts';

/**
 * The names of the facts that a session reports to its host. A recorder, and anything else that
 * watches a session, adds names of its own.
 */
export type FactName =
  | ActorFactName
  | LogFactName
  | TaskFactName
  | TaskWorkerFactName
  | TransportFactName
  | 'session.state'
  | 'session.closed'
  /** The upstream of a client could not be made; the client is told. */
  | 'upstream.failed'
  /** The server's `onClose` threw: a bug in the server. */
  | 'close.failed'
  /** The server's `onClose` has not ended within the drain time; the session ends without it. */
  | 'close.abandoned'
  | 'roots.updated'
  /** One of the client's roots cannot be used. Told once, unless another reason comes up. */
  | 'root.unusable'
  /** XState's own logger. */
  | 'machine.log';

/** How many unusable roots of one list are told one by one. */
const maxUnusable = 10;

const noMessages: readonly string[] = [];

/** Reports what the session's machine does. */
export class SessionFacts {
  readonly #report: Report<FactName>;
  #state = '';
  /** What was wrong with the roots of the last list. */
  #unusable = noMessages;

  constructor(report: Report<FactName>) {
    this.#report = report;
  }

  moved(snapshot: SessionSnapshot): void {
    const name = stateOf(snapshot);
    if (name === this.#state) return;
    const details = { from: this.#state };
    this.#report({ level: 'debug', name: 'session.state', message: name, details });
    this.#state = name;
  }

  emitted(event: SessionEmitted): void {
    const report = this.#report;
    switch (event.type) {
      case 'roots.updated': {
        const { status, roots, generation, settled, problem, failure } = event.report;
        const usable = roots.filter((root) => !root.problem).length;
        const message = `Roots are ${status}: ${roots.length}, of which ${usable} can be used`;
        const details = { generation, settled, problem, failure };
        report({ level: 'info', name: 'roots.updated', message, details });
        return this.#tellUnusable(roots);
      }
      case 'notification.ignored': {
        const message = `"${event.notification}" means nothing in this state`;
        return report({ level: 'debug', name: 'notification.ignored', message });
      }
      case 'session.closed': {
        const { cause } = event;
        const details = { cause };
        return report({ level: 'info', name: 'session.closed', message: cause.kind, details });
      }
      case 'session.negotiated':
      case 'session.initialized':
    }
  }

  #tellUnusable(roots: readonly Root[]): void {
    const problems = roots.flatMap(({ problem }) => (problem ? [problem] : []));
    const known = new Set(this.#unusable);
    const news = problems.filter(({ message }) => !known.has(message));
    this.#unusable = problems.map(({ message }) => message);
    for (const { code, message } of news.slice(0, maxUnusable)) {
      // A directory that is in the list twice is used.
      const level = code === 'DUPLICATE' ? 'info' : 'warning';
      this.#report({ level, name: 'root.unusable', message, details: { code } });
    }
    const more = news.length - maxUnusable;
    if (more <= 0) return;
    const message = `${more} more of the client's roots cannot be used`;
    this.#report({ level: 'warning', name: 'root.unusable', message });
  }
}
