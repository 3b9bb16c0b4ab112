/** Facts reported by a session. */
import type { ActorFactName, Report } from '../actors/facts.ts';
import type { LogFactName } from './context/session-log.ts';
import type { TaskFactName } from './features/session-tasks.ts';
import type { Root } from '../protocol/roots.ts';
import type { SessionEmitted } from '../machines/session.machine.ts';
import type { SessionSnapshot } from '../machines/session-state.ts';
import { stateOf } from '../machines/session-state.ts';
import type { TaskWorkerFactName } from '../../packages/tasks/src/stored-task.ts';
import type { TransportFactName } from '../transports/transport.ts';

/** Names of the facts that a session reports. Recorders and other observers add their own. */
export type FactName =
  | ActorFactName
  | LogFactName
  | TaskFactName
  | TaskWorkerFactName
  | TransportFactName
  | 'session.state'
  | 'session.closed'
  /** The upstream of a client could not be opened; `initialize` failed. */
  | 'upstream.failed'
  /** The server's `onClose` threw, which is a bug in the server. */
  | 'close.failed'
  /** The server's `onClose` exceeded the drain time; the session ended without it. */
  | 'close.abandoned'
  | 'roots.updated'
  /** A root of the client is unusable. Reported once per problem. */
  | 'root.unusable'
  /** Output of XState's logger. */
  | 'machine.log';

/** Maximum number of unusable roots reported individually per list. */
const maxUnusable = 10;

const noProblems: readonly string[] = [];

/** Reports state changes and emitted events of the session machine. */
export class SessionFacts {
  readonly #report: Report<FactName>;
  #state = '';
  /** Problems of the previous list of roots. */
  #unusable = noProblems;

  constructor(report: Report<FactName>) {
    this.#report = report;
  }

  stateChanged(snapshot: SessionSnapshot): void {
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
        const message = `Roots are ${status}: ${usable} of ${roots.length} are usable`;
        const details = { generation, settled, problem, failure };
        report({ level: 'info', name: 'roots.updated', message, details });
        return this.#reportUnusable(roots);
      }
      case 'notification.ignored': {
        const message = `"${event.notification}" was ignored in the current state`;
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

  #reportUnusable(roots: readonly Root[]): void {
    const problems = roots.flatMap(({ problem }) => (problem ? [problem] : []));
    const known = new Set(this.#unusable);
    const news = problems.filter(({ message }) => !known.has(message));
    this.#unusable = problems.map(({ message }) => message);
    for (const { code, message } of news.slice(0, maxUnusable)) {
      // A duplicate root is usable.
      const level = code === 'DUPLICATE' ? 'info' : 'warning';
      this.#report({ level, name: 'root.unusable', message, details: { code } });
    }
    const more = news.length - maxUnusable;
    if (more <= 0) return;
    const message = `${more} more roots of the client are unusable`;
    this.#report({ level: 'warning', name: 'root.unusable', message });
  }
}
