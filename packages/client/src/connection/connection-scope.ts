/**
 * State shared by the actors of one connection. The machine and its actors are created once and
 * serve every connection; their inputs carry the scope.
 */
import type { ActorRefFrom, AnyActorRef, SnapshotFrom } from 'xstate';
import type { Clock } from '../../../../src/actors/clock.ts';
import { RequestIds } from '../../../../src/actors/correlation/correlation.actor.ts';
import type { RequestHandler } from '../../../../src/actors/request-context.ts';
import type { Report } from '../../../../src/actors/facts.ts';
import type { HostRouterOptions } from '../../../../src/actors/router/host-side.ts';
import type { RouterView } from '../../../../src/actors/router/router.actor.ts';
import { Quotas } from '../../../../src/actors/memory-budget.ts';
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

export type ConnectionActorRef = ActorRefFrom<typeof connectionMachine>;
export type ConnectionSnapshot = SnapshotFrom<typeof connectionMachine>;

/** Timer that ends a connection attempt. */
interface RunningTimer {
  readonly name: 'connectTimeoutMs' | 'loginTimeoutMs';
  /** Clock ms. */
  readonly startedAt: number;
}

/** Parts of a connection. */
export interface ConnectionParts {
  readonly actor: ConnectionActorRef;
  readonly kind: ChannelKind;
  readonly host: HostDescription;
  readonly limits: ConnectionLimits;
  readonly clock: Clock;
  /** Never throws. */
  readonly report: Report;
  /** Handlers of the server's requests, by method. */
  readonly handlers: ReadonlyMap<string, RequestHandler>;
  /** Called for each notification from the server. */
  readonly onNotification: (method: string, params: JsonObject | undefined) => void;
  /** Log level requested from a modern server. */
  readonly logLevel: () => LogLevel | undefined;
  /** Progress of an already answered request, such as a task's. */
  readonly onLateProgress: (token: RequestId, report: ProgressReport) => void;
  readonly onStderr: (text: string) => void;
  readonly onAuthorize: AskPerson;
}

export class ConnectionScope {
  readonly parts: ConnectionParts;
  readonly requestIds = new RequestIds('integers');
  readonly traffic: Traffic;
  /** Envelopes of requests to a modern server. */
  readonly envelopes: Envelopes;
  /** Logic of the connection's channels. */
  readonly channel: ReturnType<ChannelKind['logic']>;
  #transitions: Transitions | undefined = undefined;
  #router: AnyActorRef | undefined = undefined;
  /** Time of the last message through previous routers. */
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

  /** Transitions of the connection's machines. */
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

  /** {@link transitions}, if already requested. */
  get observedTransitions(): Transitions | undefined {
    return this.#transitions;
  }

  /** Profile of the server while the connection is ready. */
  get served(): ServerProfile | undefined {
    const { value, context } = this.snapshot;
    // Called per request and per flush: `matches` would double the cost.
    return typeof value === 'object' && 'ready' in value ? context.profile : undefined;
  }

  /** Time of the last message from the server, clock ms; -Infinity before the first. */
  get lastHeardAt(): number {
    const { messaging } = this.snapshot.context;
    return Math.max(this.#heardAt, heardBy(messaging?.router));
  }

  /** Deadline of the current attempt, clock ms. */
  get givenUpAt(): number | undefined {
    return this.#timer && this.#timer.startedAt + this.parts.limits[this.#timer.name];
  }

  /** Records the times shown in a dump. Called with each snapshot of the machine. */
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

  /** Reopening works in every state and restarts the machine's timer. */
  reopen(): void {
    this.#timer = undefined;
    this.parts.actor.send({ type: 'connection.reopen' });
  }

  /** Dependencies of a channel's router. */
  get routing(): HostRouterOptions {
    const { report, limits, clock, handlers, onNotification } = this.parts;
    return {
      report,
      limits,
      clock,
      peer: 'server',
      quotas: new Quotas(),
      requestIds: this.requestIds,
      traffic: this.traffic,
      handlers,
      onNotification: ({ method, params }) => onNotification(method, params),
    };
  }

  /** Excludes the scope from serialized contexts in inspectors. */
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

/** Finds the connection in an actor's input. @throws {TypeError} the input has no scope */
export function connectionIn({ scope }: { readonly scope?: object | undefined }): ConnectionScope {
  if (scope instanceof ConnectionScope) return scope;
  throw new TypeError(
    'The input of a connection actor must have a "scope": pass on the input of its parent',
  );
}

/**
 * Finds the channel in a reader's or writer's input.
 *
 * @throws {TypeError} the input has none
 */
export function transportIn(input: ReaderInput | WriterInput): ObservedTransport {
  const { traffic } = connectionIn(input);
  if (input.ends) return { traffic, actors: input.ends };
  throw new TypeError('The input of a connection\'s reader or writer must have "ends"');
}

/**
 * Prepares frames for a modern server: adds an envelope to requests, and drops responses, because
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
