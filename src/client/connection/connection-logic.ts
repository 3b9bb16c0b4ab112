/** The connection machine with its actors, provided once for all connections. */
import { correlationActor } from '../../actors/correlation/correlation.actor.ts';
import { hostSide } from '../../actors/router/host-side.ts';
import { routerActor } from '../../actors/router/router.actor.ts';
import { observedMachine } from '../../actors/transitions.ts';
import { connectionMachine } from '../../machines/connection.machine.ts';
import { channelPort, readerPort, writerPort } from './channel-ports.ts';
import { connectionIn } from './connection-scope.ts';
import { handshakeActor } from './handshake.actor.ts';

export const connectedMachine = observedMachine(
  'connection',
  connectionMachine.provide({
    actors: {
      channel: channelPort,
      reader: readerPort,
      writer: writerPort,
      router: routerActor(hostSide, (input) => connectionIn(input).routing),
      correlation: correlationActor(correlating),
      handshake: handshakeActor(greeting),
    },
  }),
  connectionIn,
);

function correlating(input: { readonly scope?: object | undefined }) {
  const { requestIds, parts } = connectionIn(input);
  const { limits, clock, report, onLateProgress: lateProgress } = parts;
  const how = { peer: 'server', malformed: 'reported', lateProgress } as const;
  return { limits, clock, report, requestIds, ...how };
}

function greeting(input: { readonly scope?: object | undefined }) {
  const { host, limits } = connectionIn(input).parts;
  // The machine has shorter times; this one is for a machine that was replaced.
  return { host, handshakeTimeoutMs: limits.connectTimeoutMs + limits.loginTimeoutMs };
}
