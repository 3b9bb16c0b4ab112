/** What a session reports: its own facts, and those that its parts declare. */
import type { ActorFactName, Report } from '../actors/facts.ts';
import type { LogFactName } from '../context/session-log.ts';
import type { TaskFactName } from '../features/task-book.ts';
import type { SessionEmitted } from '../machines/session.machine.ts';
import { stateOf } from '../machines/session-state.ts';
import type { SessionSnapshot } from '../machines/session-state.ts';
import type { TransportFactName } from '../transports/transport.ts';

/**
 * The names of the facts that a session reports to its host. A recorder, and anything else that
 * watches a session, adds names of its own.
 */
export type FactName =
  | ActorFactName
  | LogFactName
  | TaskFactName
  | TransportFactName
  | 'session.state'
  | 'session.closed'
  | 'roots.updated'
  /** XState's own logger. */
  | 'machine.log';

/** Reports what the session's machine does. */
export function factsOf(report: Report<FactName>) {
  let state = '';
  return {
    moved: (snapshot: SessionSnapshot): void => {
      const name = stateOf(snapshot);
      if (name === state) return;
      const details = { from: state };
      report({ level: 'debug', name: 'session.state', message: name, details });
      state = name;
    },
    emitted: (event: SessionEmitted): void => {
      switch (event.type) {
        case 'roots.updated': {
          const { status, roots, generation, settled, problem } = event.report;
          return report({
            level: 'info',
            name: 'roots.updated',
            message: `Roots are ${status}: ${roots.length}`,
            details: { generation, settled, problem },
          });
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
    },
  };
}
