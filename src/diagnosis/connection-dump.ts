/** A dump of a connection: where it stands and why, what is pending, what is known of the server. */
import type { ActorRefFrom } from 'xstate';
import { viewOf } from '../machines/port.ts';
import { stateName } from '../machines/names.ts';
import type { connectionMachine } from '../client/connection/connection.machine.ts';
import type { Era } from '../client/connection/connection-context.ts';
import { errorOf } from '../protocol/losses.ts';
import type { Limits } from '../actors/limits.ts';
import type { MachineActor } from '../actors/transitions.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { dumpActor, dumpActors, dumpInFlight, quietness } from './peer-dump.ts';
import type { InFlight, PeerDump } from './peer-dump.ts';

/** A host's connection at one moment. */
export interface ConnectionDump extends PeerDump {
  /** Tells it from a server's session. */
  readonly side: 'host';
  /** What the host calls the server. */
  readonly name: string;
  /** The time since the connection has come to where it stands, inner states not counted. */
  readonly sinceMs: number;
  /** The time until it is given up, while it is not ready yet. */
  readonly leftMs?: number;
  /** New attempts since it was last stable; 0 for the first. */
  readonly attempt: number;
  /** Of a wait before the next attempt, as a whole. */
  readonly delayMs?: number;
  /** Channels that were opened: processes that were launched, endpoints that were tried. */
  readonly launches: number;
  /** The server, once it has introduced itself; then that of the last handshake. */
  readonly server?: {
    readonly name: string;
    readonly version: string;
    readonly era: Era;
    readonly revision: string;
    readonly capabilities: JsonObject;
  };
  /** Why there is no connection, or why the last one ended. */
  readonly loss?: { readonly kind: string; readonly message: string };
  /** The last that the server's processes have written to their standard error. */
  readonly lastWords?: string;
  /** The lists that were wanted. */
  readonly lists: readonly ListDump[];
}

/** One of the server's lists. */
export interface ListDump {
  /** Which list: `tools`, `resources`, `resourceTemplates` or `prompts`. */
  readonly name: string;
  /** Of its chart, such as `asking.stale`. */
  readonly state: string;
  /** How many entries are known. */
  readonly entries: number;
  /** What the host sees: `stale`, if they may have changed since the server gave them. */
  readonly known: 'asking' | 'known' | 'stale' | 'failed' | 'unsupported';
}

/** What a channel shows of itself, as far as a dump tells it. */
export interface ChannelView {
  /** What goes on in it: a process, streams, a login. */
  readonly machines?: readonly MachineActor[];
}

/** What a dump is made of. */
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
  /** When it is given up if it is not ready then. */
  readonly givenUpAt: number | undefined;
  readonly stderr: string;
  readonly lists: readonly ListDump[];
  /** Of its lists and subscriptions. */
  readonly machines: readonly MachineActor[];
}

/** Of what a process has written, so much is told: characters. */
const maxLastWords = 8000;

/** The last whole lines: what begins in the middle of one could be a secret that nobody knows as one. */
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
    ...(loss ? { loss: { kind: loss.kind, message: errorOf(loss).message } } : {}),
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

/** What was sent to a server that is not ready yet ends with the attempt, if not sooner. */
function boundedBy(givenUpAt: number | undefined, now: number, inFlight: InFlight): InFlight {
  if (givenUpAt === undefined) return inFlight;
  const leftMs = Math.round(givenUpAt - now);
  const pending = inFlight.pending.map((request) =>
    request.state === 'sent' && request.leftMs > leftMs ? { ...request, leftMs } : request,
  );
  return { ...inFlight, pending };
}
