/** Builds the dump of a connection from its machine, channel and pending requests. */
import type { ActorRefFrom } from 'xstate';
import { viewOf } from '../../../../src/machines/port.ts';
import { stateName } from '../../../../src/machines/names.ts';
import { disconnectError } from '../../../../src/protocol/disconnects.ts';
import type { Limits } from '../../../../src/actors/limits.ts';
import type { MachineActor } from '../../../../src/actors/transitions.ts';
import type { ConnectionDump, ListDump } from '../../../diagnostics/src/connection-dump.ts';
import {
  dumpActor,
  dumpActors,
  dumpInFlight,
  quietness,
} from '../../../diagnostics/src/peer-dump.ts';
import type { InFlight } from '../../../diagnostics/src/peer-dump.ts';
import type { connectionMachine } from './connection.machine.ts';

/** Part of a channel shown in dumps. */
export interface ChannelView {
  /** Machines of the channel: a process, streams, a login. */
  readonly machines?: readonly MachineActor[];
}

/** Inputs of a connection dump. */
export interface ConnectionDumpSource {
  readonly id: string;
  readonly name: string;
  readonly actor: ActorRefFrom<typeof connectionMachine>;
  readonly limits: Pick<Limits, 'maxRunning' | 'maxWaiting' | 'maxPending' | 'maxOutboundBytes'>;
  readonly now: number;
  readonly startedAt: number;
  readonly since: number;
  /** -Infinity before the first message. */
  readonly lastHeardAt: number;
  /** Deadline for becoming ready. */
  readonly givenUpAt: number | undefined;
  readonly stderr: string;
  readonly lists: readonly ListDump[];
  /** Machines of lists and subscriptions. */
  readonly machines: readonly MachineActor[];
}

/** Maximum length of quoted stderr, characters. */
const maxLastWords = 8000;

/** The last whole lines. A partial line could be the tail of a secret that redaction misses. */
function lastLinesOf(text: string): string {
  const words = text.trim();
  if (words.length <= maxLastWords) return words;
  const cut = words.slice(-maxLastWords);
  const end = cut.indexOf('\n');
  return end === -1 ? '' : cut.slice(end + 1);
}

export function dumpConnection(source: ConnectionDumpSource): ConnectionDump {
  const { id, name, actor, limits, now, startedAt, since, givenUpAt, stderr, lists } = source;
  const snapshot = actor.getSnapshot();
  const { context, children, status } = snapshot;
  const { profile, loss, attempts: attempt, delayMs, launches, messaging } = context;
  const channel = context.channel && viewOf<ChannelView>(context.channel);
  const machines = [...(channel?.machines ?? []), ...source.machines];
  const lastWords = lastLinesOf(stderr);
  return {
    side: 'host',
    id,
    name,
    state: status === 'error' ? 'closed' : stateName(snapshot),
    ageMs: Math.round(now - startedAt),
    ...quietness(source),
    sinceMs: Math.round(now - since),
    ...(givenUpAt === undefined ? {} : { leftMs: Math.round(givenUpAt - now) }),
    attempt,
    ...(snapshot.value === 'backoff' ? { delayMs: Math.round(delayMs) } : {}),
    launches,
    ...(profile
      ? {
          server: {
            name: profile.info.name,
            version: profile.info.version,
            era: profile.era,
            revision: profile.revision,
            capabilities: profile.capabilities,
          },
        }
      : {}),
    ...(loss ? { loss: { kind: loss.kind, message: disconnectError(loss).message } } : {}),
    ...(lastWords === '' ? {} : { lastWords }),
    lists,
    actors: [
      { ...dumpActor(actor), id: 'connection' },
      ...dumpActors(children),
      ...machines.map((each) => dumpActor(each.actor, each.machine)),
    ],
    ...boundedBy(
      givenUpAt,
      now,
      dumpInFlight({ ...messaging, correlation: context.correlation }, limits, now),
    ),
  };
}

/** Requests sent before the server is ready end with the attempt, if not sooner. */
function boundedBy(givenUpAt: number | undefined, now: number, inFlight: InFlight): InFlight {
  if (givenUpAt === undefined) return inFlight;
  const leftMs = Math.round(givenUpAt - now);
  const pending = inFlight.pending.map((request) =>
    request.state === 'sent' && request.leftMs > leftMs ? { ...request, leftMs } : request,
  );
  return { ...inFlight, pending };
}
