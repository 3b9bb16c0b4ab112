/** A connection as actor logic, and by itself. */
import { createActor } from 'xstate';
import type { ActorLogic, AnyActorRef, Snapshot } from 'xstate';
import { systemClock } from '../../actors/clock.ts';
import type {
  ConnectionEmitted,
  ConnectionMachineEvent,
} from '../../machines/connection-events.ts';
import { plainConnection } from './connection-environment.ts';
import { connectedMachine } from './connection-logic.ts';
import type { ConnectionActorRef, ConnectionSnapshot } from './connection-scope.ts';
import type { Connection } from './connection.ts';
import { HostConnection } from './host-connection.ts';
import type { ConnectionLogicInput } from './host-connection.ts';

/**
 * A connection as XState actor logic. Each actor that a host invokes or spawns with it is a
 * connection, which opens when it starts and is done when it was closed: by `connection.close`, or
 * its `signal`. The snapshot is the connection machine's, the output says why it was lost last, and
 * it emits {@link ConnectionEmitted}.
 *
 * `stop` releases everything at once. A connection cannot be restored from a persisted snapshot: it
 * fails when it is started.
 */
export type ConnectionLogic<TInput> = ActorLogic<
  ConnectionSnapshot,
  ConnectionMachineEvent,
  TInput,
  AnyActorRef['system'],
  ConnectionEmitted
>;

const owned = new WeakMap<object, HostConnection>();

/** The logic of connections over the given kind of channel. */
export const channelConnectionLogic: ConnectionLogic<ConnectionLogicInput> = {
  getInitialSnapshot: (scope, options) => {
    if (options.record && !options.host) {
      throw new TypeError('Only what connect or openConnection opens can be recorded');
    }
    const connection = new HostConnection(scope.self as ConnectionActorRef, options);
    owned.set(scope.self, connection);
    return connectedMachine.getInitialSnapshot(scope, connection.input);
  },
  start: (snapshot, { self }) => {
    const connection = owned.get(self);
    if (!connection) {
      throw new Error('A connection cannot be restored from a snapshot: open a new one');
    }
    connectedMachine.start(snapshot);
    connection.begin();
  },
  transition: connectedMachine.transition,
  getPersistedSnapshot: ({ status, output, error }) =>
    ({ status, output, error }) as Snapshot<unknown>,
  restoreSnapshot: (snapshot) => snapshot as ConnectionSnapshot,
};

/**
 * The connection of an actor that a host has invoked or spawned, with everything that a connection
 * has.
 *
 * @throws {TypeError} the actor is not a connection
 */
export function connectionOf(actor: AnyActorRef): Connection {
  const connection = owned.get(actor);
  if (connection) return connection;
  throw new TypeError(
    `The actor "${actor.id}" is no connection: give what was invoked or spawned with connectionLogic`,
  );
}

/**
 * Opens a connection, in a system of its own. Does not wait for it.
 *
 * @throws {RangeError} an option is wrong; names it
 */
export function openChannel(options: ConnectionLogicInput): HostConnection {
  const { clock: hostClock = systemClock, record: environment = plainConnection } = options;
  const clock = environment.clock(hostClock);
  const input = { ...options, host: { environment, clock } };
  const actor = createActor(channelConnectionLogic, { input, clock });
  const connection = owned.get(actor);
  // XState keeps what the options have made it throw.
  if (!connection) throw actor.getSnapshot().error;
  environment.start(() => actor.start());
  return connection;
}
