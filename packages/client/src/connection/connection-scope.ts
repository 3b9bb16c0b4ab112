/**
 * What belongs to one connection. The machine and its actors are made once and serve every
 * connection; their inputs carry the scope to each of them.
 */
import type { ActorRefFrom, AnyActorRef, SnapshotFrom } from 'xstate';
import type { Clock } from '../../../../src/actors/clock.ts';
import { RequestIds } from '../../../../src/actors/correlation/request-ids.ts';
import type { RequestHandler } from '../../../../src/actors/exchange.ts';
import type { Report } from '../../../../src/actors/facts.ts';
import type { HostRouterOptions } from '../../../../src/actors/router/host-side.ts';
import type { RouterView } from '../../../../src/actors/router/router.actor.ts';
import { Quotas } from '../../../../src/actors/room.ts';
import { Traffic } from '../../../../src/actors/traffic.ts';
import type { ObservedTransport } from '../../../../src/actors/traffic.ts';
import { Transitions } from '../../../../src/actors/transitions.ts';
import type { ServerProfile } from './connection-context.ts';
import type {
  FramesToSend,
  InputScope,
  ReaderInput,
  WriterInput,
} from '../../../../src/machines/peer-ports.ts';
import type { connectionMachine } from './connection.machine.ts';
import { viewOf } from '../../../../src/machines/port.ts';
import type { LogLevel } from '../../../../src/protocol/log-levels.ts';
import type { ProgressReport } from '../../../../src/protocol/dialects/dialect.ts';
import type { JsonObject, OutboundFrame, RequestId } from '../../../../src/protocol/frames.ts';
import type { AskPerson, ChannelKind, ChannelTools } from '../channel/channel-kind.ts';
import { Envelopes, withEnvelope } from './enveloped.ts';
import type { HostDescription } from './enveloped.ts';
import type { ConnectionLimits } from './limits.ts';

/** A connection's actor: its snapshot, its emitted events, its children. */
export type ConnectionActorRef = ActorRefFrom<typeof connectionMachine>;
export type ConnectionSnapshot = SnapshotFrom<typeof connectionMachine>;

/** The machine's timer after which a connection that is not ready is given up. */
interface RunningTimer {
  readonly name: 'connectTimeoutMs' | 'loginTimeoutMs';
  /** The clock's milliseconds. */
  readonly startedAt: number;
}

/** The parts of a connection. */
export interface ConnectionParts {
  readonly actor: ConnectionActorRef;
  readonly kind: ChannelKind;
  readonly host: HostDescription;
  readonly limits: ConnectionLimits;
  readonly clock: Clock;
  /** Never throws. */
  readonly report: Report;
  /** The handlers of the server's requests, by method. */
  readonly handlers: ReadonlyMap<string, RequestHandler>;
  /** Called for each notification from the server. */
  readonly onNotification: (method: string, params: JsonObject | undefined) => void;
  /** The level of the log messages that a modern server may send with its answers. */
  readonly logLevel: () => LogLevel | undefined;
  /** Progress of a request that was already answered: of a task. */
  readonly onLateProgress: (token: RequestId, report: ProgressReport) => void;
  readonly onStderr: (text: string) => void;
  readonly onAuthorize: AskPerson;
}

export class ConnectionScope {
  readonly parts: ConnectionParts;
  readonly requestIds = new RequestIds('integers');
  readonly traffic: Traffic;
  /** The envelopes of requests to a modern server. */
  readonly envelopes: Envelopes;
  /** The logic of its channels. */
  readonly channel: ReturnType<ChannelKind['logic']>;
  #transitions: Transitions | undefined = undefined;
  #router: AnyActorRef | undefined = undefined;
  /** When the routers of earlier channels last heard the server. */
  #heardAt = -Infinity;
  #timer: RunningTimer | undefined = undefined;

  constructor(parts: ConnectionParts) {
    const { report, clock } = parts;
    this.parts = parts;
    this.envelopes = new Envelopes(parts.host);
    this.traffic = new Traffic({ hostClock: clock, report });
    this.channel = parts.kind.logic(this.#tools());
  }

  get snapshot(): ConnectionSnapshot {
    return this.parts.actor.getSnapshot();
  }

  /** The transitions of the connection's machines. */
  get transitions(): Transitions {
    if (!this.#transitions) {
      const { actor, report } = this.parts;
      this.#transitions = new Transitions(report);
      const nameOf = (inspected: AnyActorRef) => (inspected === actor ? 'connection' : undefined);
      this.#transitions.observe(actor, nameOf, (end) => {
        actor.subscribe({ complete: end, error: end });
      });
    }
    return this.#transitions;
  }

  /** {@link transitions}, if anything has ever asked for them. */
  get observedTransitions(): Transitions | undefined {
    return this.#transitions;
  }

  /** The server, while the connection is ready. */
  get served(): ServerProfile | undefined {
    const { value, context } = this.snapshot;
    // Called for each request and each turn's output: `matches` would cost as much as everything
    // else in it.
    return typeof value === 'object' && 'ready' in value ? context.profile : undefined;
  }

  /** When the server was last heard, the clock's milliseconds; -Infinity before that. */
  get lastHeardAt(): number {
    const { messaging } = this.snapshot.context;
    return Math.max(this.#heardAt, heardBy(messaging?.router));
  }

  /** When a connection that is not ready yet is given up, the clock's milliseconds. */
  get givenUpAt(): number | undefined {
    return this.#timer && this.#timer.startedAt + this.parts.limits[this.#timer.name];
  }

  /** Notes the times that a dump shows. Called with each snapshot of the machine. */
  moved(snapshot: ConnectionSnapshot): void {
    const router = snapshot.context.messaging?.router;
    if (router !== this.#router) {
      this.#heardAt = Math.max(this.#heardAt, heardBy(this.#router));
      this.#router = router;
    }
    const name = timerIn(snapshot);
    if (name === this.#timer?.name) return;
    this.#timer = name && { name, startedAt: this.parts.clock.now() };
  }

  /** The connection is reopened in any state, and the machine's timer restarts with it. */
  reopen(): void {
    this.#timer = undefined;
    this.parts.actor.send({ type: 'connection.reopen' });
  }

  /** The dependencies of a channel's router. */
  get routing(): HostRouterOptions {
    const { report, limits, clock, handlers, onNotification } = this.parts;
    return {
      report,
      limits,
      clock,
      peer: 'server',
      shares: new Quotas(),
      requestIds: this.requestIds,
      traffic: this.traffic,
      handlers,
      notified: ({ method, params }) => onNotification(method, params),
    };
  }

  /** Keeps the scope out of the serialized context that an inspector shows. */
  toJSON(): undefined {
    return undefined;
  }

  #tools(): ChannelTools {
    const { limits, report, clock, onStderr, onAuthorize } = this.parts;
    return { limits, report, clock, observed: this, stderr: onStderr, authorize: onAuthorize };
  }
}

function heardBy(router: AnyActorRef | undefined): number {
  return (router && viewOf<RouterView>(router)?.lastHeardAt) ?? -Infinity;
}

function timerIn(snapshot: ConnectionSnapshot): RunningTimer['name'] | undefined {
  if (snapshot.matches({ connecting: 'timed' })) return 'connectTimeoutMs';
  return snapshot.matches({ connecting: 'authorizing' }) ? 'loginTimeoutMs' : undefined;
}

/** The connection in an actor's input. @throws {TypeError} the input has none */
export function connectionIn({ scope }: { readonly scope?: object | undefined }): ConnectionScope {
  if (scope instanceof ConnectionScope) return scope;
  throw new TypeError(
    'The input of an actor of a connection has no "scope": hand on what it was given',
  );
}

/**
 * The channel of the reader or the writer with this input. @throws {TypeError} the input has none
 */
export function transportIn(input: ReaderInput | WriterInput): ObservedTransport {
  const { traffic } = connectionIn(input);
  if (input.ends) return { traffic, ends: input.ends };
  throw new TypeError('The input of a connection\'s reader or writer has no "ends"');
}

/**
 * Prepares frames for a modern server: requests get an envelope, and answers are dropped, because
 * such a server may not send requests.
 *
 * @see MCP 2026-07-28, basic, "Messages"
 */
export function withClientEnvelope(input: InputScope, event: FramesToSend): FramesToSend {
  const { served, parts, envelopes } = connectionIn(input);
  if (served?.era !== 'modern') return event;
  const envelope = envelopes.of(served.revision, parts.logLevel());
  const { frames } = event;
  for (const [at, frame] of frames.entries()) frames[at] = withEnvelope(frame, envelope);
  if (frames.every(isAsked)) return event;
  return { ...event, frames: frames.filter(isAsked) };
}

function isAsked(frame: OutboundFrame): boolean {
  return 'method' in frame;
}
