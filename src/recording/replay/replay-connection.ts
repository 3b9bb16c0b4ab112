/**
 * Replays a host's connection whose whole outside is taken from the recording: its channels, its
 * host's calls and answers, its time. The same code sends the same and comes to the same states.
 */
import type { ChannelKind } from '../../client/channel/channel-kind.ts';
import type {
  ConnectionEnvironment,
  HostMethod,
} from '../../client/connection/connection-environment.ts';
import { plainConnection } from '../../client/connection/connection-environment.ts';
import type { ConnectionSetup } from '../../client/connection/connection-setup.ts';
import type { HostConnection } from '../../client/connection/host-connection.ts';
import type { ConnectionLimits } from '../../client/connection/limits.ts';
import { connectionLimitsWith, defaultConnectionLimits } from '../../client/connection/limits.ts';
import { openChannel } from '../../client/connection/open-connection.ts';
import type { ChannelReport } from '../../machines/connection-ports.ts';
import type { ChannelEnds } from '../../machines/connection-ports.ts';
import { plainActor } from '../../machines/port.ts';
import type { Ref } from '../../machines/port.ts';
import { isJsonObject } from '../../protocol/classify.ts';
import { Method } from '../../protocol/methods.ts';
import { codeOf, replayedLoss } from '../connection-lines.ts';
import type { InputLine } from '../format.ts';
import type { ConnectionHeader, HostLine, LinkLine } from '../connection-format.ts';
import type { NumberedLine, Recording } from '../recording.ts';
import { transitionLines } from '../session-lines.ts';
import { settledRounds } from '../timeline.ts';
import type { Difference } from './difference.ts';
import { giveInputs } from './give-inputs.ts';
import type { Playback } from './playback.ts';
import { RecordingCursor } from './recording-cursor.ts';
import { ReplayClock, replayEnds, writerFact } from './replay-world.ts';
import type { ReplayEnds } from './replay-world.ts';
import { ReplayedHandlers } from './replayed-handlers.ts';

/** Gives the first difference, or undefined. */
export function replayConnection(
  recording: Recording,
  header: ConnectionHeader,
  playback: Playback,
): Promise<Difference | undefined> {
  return new Player(recording, header, playback).play();
}

interface Computation {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

type Call = (...args: readonly unknown[]) => Promise<unknown>;

class Player {
  readonly #header: ConnectionHeader;
  readonly #playback: Playback;
  readonly #cursor: RecordingCursor;
  readonly #clock: ReplayClock;
  readonly #handlers: ReplayedHandlers;
  readonly #ends: ReplayEnds;
  readonly #connection: HostConnection;
  readonly #computations: Computation[] = [];
  readonly #signals = new Map<number, AbortController>();
  /** The number of the last input: the rounds of an older one end. */
  #lastInput = 0;
  /** The channel's connection, once a channel was opened. */
  #link: Ref<ChannelReport> | undefined = undefined;
  /** What comes after the end is not recorded. */
  #state: 'open' | 'closed' = 'open';

  constructor(recording: Recording, header: ConnectionHeader, playback: Playback) {
    this.#header = header;
    this.#playback = playback;
    const cursor = new RecordingCursor(recording, (output) => playback.matched(output));
    this.#cursor = cursor;
    this.#clock = new ReplayClock(header.at);
    const giveNested = () => this.#giveNested();
    this.#handlers = new ReplayedHandlers({
      started: (started, { id, method }) => cursor.output({ started, id, method }),
      told: (call, told) => cursor.output({ told, call }),
      resumption: (method) => cursor.resumption(method),
      judged: () => this.#computed(),
      giveNested,
    });
    this.#ends = replayEnds({
      said: (sent) => cursor.output({ sent }),
      afterwards: () => this.#giveNested('writer'),
    });
    this.#connection = this.#open();
    // Where the host's listeners were called, they may have called the connection.
    this.#connection.events$.subscribe(giveNested);
    this.#connection.state$.subscribe(giveNested);
  }

  async play(): Promise<Difference | undefined> {
    const cursor = this.#cursor;
    await giveInputs(cursor, this.#playback, (input) => this.#give(input));
    this.#state = 'closed';
    this.#connection.actor.stop();
    return cursor.difference;
  }

  #open(): HostConnection {
    const { watchers } = this.#playback.host;
    const offers = (method: string) => this.#header.methods.includes(method);
    return openChannel({
      kind: this.#kind(),
      name: this.#header.name,
      clock: this.#clock,
      record: this.#environment(),
      report: () => {},
      // What they answer is in the recording.
      ...(offers(Method.rootsList) ? { roots: [] } : {}),
      ...(watchers ? { watchers } : {}),
    });
  }

  #kind(): ChannelKind {
    const { name, shows } = this.#header;
    const logic: ChannelKind['logic'] = () =>
      plainActor(({ input }) => {
        this.#link = input.connection;
        this.#giveNested('channel.start');
        return { receive: ({ type }) => this.#giveNested(type) };
      });
    return { name, shows, restart: 'none', logic };
  }

  #environment(): ConnectionEnvironment {
    const [header, cursor] = [this.#header, this.#cursor];
    return {
      ...plainConnection,
      begin: () => setupIn(header),
      observe: (transitions) => {
        transitions.listen(
          transitionLines((line) => {
            if (this.#state === 'open') cursor.output(line);
          }),
        );
      },
      random: () => () => Number(cursor.random('jitter') ?? 0),
      handlers: () =>
        new Map(header.methods.map((method) => [method, this.#handlers.handlerOf(method)])),
      answers: () => ({ answer: () => this.#computed() }),
      closed: (closed) => {
        if (this.#state === 'open') cursor.output({ closed });
        this.#state = 'closed';
      },
    };
  }

  #computed<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#computations.push({ resolve: resolve as Computation['resolve'], reject });
    });
  }

  /** @param place what of the channel is called; undefined for everything else */
  #giveNested(place?: string): void {
    for (;;) {
      const { input } = this.#cursor;
      if (!input?.line.nested || !this.#cursor.isCaughtUp || this.#cursor.difference) return;
      if (input.line.within !== place) return;
      this.#give(input);
    }
  }

  #give(input: NumberedLine<InputLine>): void {
    this.#cursor.take();
    this.#playback.given(input);
    this.#clock.advanceTo(input.line.at);
    // As the recorder does: what the host awaits goes on before what this input begins.
    if (!input.line.nested) this.#countRounds();
    const problem = this.#do(input.line);
    if (problem !== undefined) this.#cursor.refuse(input, problem);
  }

  /** An input that came in the same turn is given as early in its round as what came before it allows. */
  #countRounds(): void {
    const last = ++this.#lastInput;
    let rounds = 0;
    const round = () => {
      const { input, isCaughtUp, difference } = this.#cursor;
      if (last !== this.#lastInput || !input || difference) return;
      rounds += 1;
      if (input.line.rounds === rounds && isCaughtUp) this.#give(input);
      else if (rounds < settledRounds) queueMicrotask(round);
    };
    queueMicrotask(round);
  }

  /** Gives the connection an input. Says why it cannot, if it cannot. */
  #do(line: InputLine): string | undefined {
    if ('received' in line) this.#ends.receive({ client: line.received });
    else if ('frames' in line) this.#ends.receive(line);
    else if ('link' in line) return this.#linked(line);
    else if ('host' in line) this.#host(line);
    else if ('end' in line) this.#ends.tell({ type: 'input.ended' });
    else if ('output' in line) this.#ends.tell(writerFact(line));
    else if ('timer' in line) {
      if (!this.#clock.fire(line.timer)) {
        return `timer ${line.timer} fired in the recorded connection, and the replayed one has not set it, or has cleared it`;
      }
    } else if ('unsent' in line) {
      if (!this.#ends.unsent(line)) return notSent(line.unsent);
    } else if ('returned' in line) {
      if (!this.#ends.returned(line)) return notSent(line.returned);
    } else if ('taken' in line) {
      if (!this.#ends.taken(line)) return 'the replayed connection awaits nothing that it has sent';
    } else if ('computed' in line) {
      const computation = this.#computations[line.computed - 1];
      if (!computation) return `the replayed connection has not asked for answer ${line.computed}`;
      if (line.thrown === undefined) computation.resolve(line.value);
      else computation.reject(new Error(line.thrown));
    } else if ('call' in line && !this.#handlers.do(line)) {
      return `the replayed connection has not started what was the recorded one's call ${line.call}`;
    }
    return undefined;
  }

  #linked({ link, loss }: LinkLine): string | undefined {
    if (!this.#link) return 'the replayed connection has opened no channel';
    this.#link.send(this.#reportOf(link, loss));
    return undefined;
  }

  #reportOf(link: LinkLine['link'], loss: LinkLine['loss']): ChannelReport {
    switch (link) {
      case 'opened': {
        const transport = this.#ends.transport({
          limits: connectionLimitsWith(),
          report: () => {},
          peer: 'server',
        } as never);
        return { type: 'channel.opened', ends: transport as unknown as ChannelEnds };
      }
      case 'lost':
        return { type: 'channel.lost', loss: replayedLoss(loss ?? { kind: 'input-ended' }) };
      case 'expired':
        return { type: 'session.expired' };
      case 'relogged':
        return { type: 'login.changed' };
      default:
        return { type: `channel.${link}` };
    }
  }

  /** Calls what the host has called. */
  #host({ host, calls, params, withdrawn }: HostLine): void {
    if (withdrawn !== undefined) return this.#signals.get(host)?.abort(withdrawn);
    if (calls === undefined) return;
    if (calls === 'watch') {
      this.#connection.lists.tools.watch(() => {});
      return;
    }
    const controller = new AbortController();
    this.#signals.set(host, controller);
    const settled = (code?: string | number) => {
      if (this.#state === 'closed') return;
      this.#cursor.output({ settled: host, ...(code === undefined ? {} : { code }) });
    };
    const call = (this.#connection[calls] as Call).bind(this.#connection);
    call(...argumentsOf(calls, params, controller.signal)).then(
      () => settled(),
      (error: unknown) => settled(codeOf(error)),
    );
  }
}

/** Where the options stand among the arguments of what a host calls. */
const optionsAt: { readonly [method in HostMethod]?: number } = {
  request: 2,
  notify: 2,
  callTool: 2,
  callToolAsTask: 2,
  listTools: 0,
  listResources: 0,
  listResourceTemplates: 0,
  listPrompts: 0,
  readResource: 1,
  getPrompt: 2,
  complete: 1,
  subscribe: 1,
  unsubscribe: 1,
  setLogLevel: 1,
  setRoots: 1,
  ping: 0,
  reconnect: 0,
};

/** JSON has null for an argument that was left out. */
function argumentsOf(calls: HostMethod, params: unknown, signal: AbortSignal): unknown[] {
  const args = (Array.isArray(params) ? (params as unknown[]) : []).map((arg) => arg ?? undefined);
  const { [calls]: at } = optionsAt;
  if (at === undefined) return args;
  while (args.length < at) args.push(undefined);
  const options = args[at];
  args[at] = { ...(isJsonObject(options) ? options : {}), signal };
  return args;
}

function setupIn({ limits, ...header }: ConnectionHeader): ConnectionSetup {
  const { name, shows, restart, era, wanted, clientInfo, capabilities, methods } = header;
  const known = Object.entries(limits)
    .filter(([limit]) => limit in defaultConnectionLimits)
    .map(([limit, value]) => [limit, value ?? Infinity]);
  return {
    ...{ name, shows, restart, era, clientInfo, capabilities, methods },
    ...(wanted === undefined ? {} : { wanted }),
    limits: connectionLimitsWith(Object.fromEntries(known) as Partial<ConnectionLimits>),
  };
}

function notSent(method: string): string {
  return `the recorded connection heard what became of ${method}, and the replayed one has not sent it`;
}
