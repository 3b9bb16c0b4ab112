/** Connections as actor logic, and connections opened directly. */
import { createActor } from 'xstate';
import type { ActorLogic, AnyActorRef, Snapshot } from 'xstate';
import { systemClock } from '../../../../src/actors/clock.ts';
import type { ConnectionEmitted, ConnectionMachineEvent } from './connection-events.ts';
import { plainConnection } from './connection-environment.ts';
import type { ConnectionActorRef, ConnectionSnapshot } from './connection-scope.ts';
import type { Connection } from './connection.ts';
import { HostConnection } from './host-connection.ts';
import type { HostConnectionInput } from './host-connection.ts';
import { correlationActor } from '../../../../src/actors/correlation/correlation.actor.ts';
import { hostSide } from '../../../../src/actors/router/host-side.ts';
import { routerActor } from '../../../../src/actors/router/router.actor.ts';
import { connectionMachine } from './connection.machine.ts';
import { observedWriter, readerPort } from '../../../../src/actors/traffic.ts';
import { portByInput } from '../../../../src/machines/port.ts';
import { connectionIn, withClientEnvelope, transportIn } from './connection-scope.ts';
import { handshakeActor } from './handshake.actor.ts';

/**
 * A connection as XState actor logic. Each actor invoked or spawned with it is a connection: it
 * opens when started, and is done once closed by `connection.close` or its `signal`. Its snapshot
 * is the connection machine's, its output contains the last disconnect, and it emits {@link
 * ConnectionEmitted}.
 *
 * `stop` releases everything at once. A connection cannot be restored from a persisted snapshot:
 * starting it fails.
 */
export type ConnectionLogic<TInput> = ActorLogic<
  ConnectionSnapshot,
  ConnectionMachineEvent,
  TInput,
  AnyActorRef['system'],
  ConnectionEmitted
>;

/** The connection machine with its actors, provided once for all connections. */
const connectedMachine = connectionMachine.provide({
  actors: {
    channel: portByInput((input) => connectionIn(input).channel),
    reader: readerPort(transportIn),
    writer: observedWriter(transportIn, withClientEnvelope),
    router: routerActor(hostSide, (input) => connectionIn(input).routing),
    correlation: correlationActor(correlating),
    handshake: handshakeActor(greeting),
  },
});

function correlating(input: { readonly scope?: object | undefined }) {
  const { requestIds, parts } = connectionIn(input);
  const { limits, clock, report, onLateProgress } = parts;
  const how = { peer: 'server', malformed: 'reported', onLateProgress } as const;
  return { limits, clock, report, requestIds, ...how };
}

function greeting(input: { readonly scope?: object | undefined }) {
  const { host, limits } = connectionIn(input).parts;
  // The machine has shorter timeouts; this one protects custom machines of a host.
  return { host, handshakeTimeoutMs: limits.connectTimeoutMs + limits.loginTimeoutMs };
}

const owned = new WeakMap<object, HostConnection>();

/** Logic of connections over the given kind of channel. */
export const channelConnectionLogic: ConnectionLogic<HostConnectionInput> = {
  getInitialSnapshot: (scope, options) => {
    if (options.record && !options.host) {
      throw new TypeError(
        'Recording needs a connection opened with connect or openConnection, not one invoked by a machine',
      );
    }
    const connection = new HostConnection(scope.self as ConnectionActorRef, options);
    owned.set(scope.self, connection);
    return connectedMachine.getInitialSnapshot(scope, connection.input);
  },
  start: (_, { self }) => {
    const connection = owned.get(self);
    if (!connection) {
      throw new Error('Connections cannot be restored from a snapshot: open a new one');
    }
    connection.begin();
  },
  transition: connectedMachine.transition,
  getPersistedSnapshot: ({ status, output, error }) =>
    ({ status, output, error }) as Snapshot<unknown>,
  restoreSnapshot: (snapshot) => snapshot as ConnectionSnapshot,
};

/**
 * The {@link Connection} of an actor invoked or spawned with `connectionLogic`.
 *
 * @throws {TypeError} the actor is not a connection
 */
export function connectionOf(actor: AnyActorRef): Connection {
  const connection = owned.get(actor);
  if (connection) return connection;
  throw new TypeError(
    `The actor "${actor.id}" must be a connection: pass an actor invoked or spawned with connectionLogic`,
  );
}

/**
 * Opens a connection in its own actor system, without waiting for the handshake.
 *
 * @throws {RangeError} an option is out of range
 */
export function openChannel(options: HostConnectionInput): HostConnection {
  const { clock: hostClock = systemClock, record: environment = plainConnection } = options;
  const clock = environment.clock(hostClock);
  const input = Object.assign(options, { host: { environment, clock } });
  const actor = createActor(channelConnectionLogic, { input, clock });
  const connection = owned.get(actor);
  // XState stores errors caused by the options in the snapshot.
  if (!connection) throw actor.getSnapshot().error;
  environment.start(() => actor.start());
  return connection;
}
