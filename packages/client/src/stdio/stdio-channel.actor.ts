/**
 * Channel to a launched server process, over its standard streams.
 *
 * @see MCP 2025-11-25, basic/transports, "stdio"
 */
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { readerActor } from '../../../../src/actors/reader/reader.actor.ts';
import { writerActor } from '../../../../src/actors/writer/writer.actor.ts';
import type { ChannelEvent, ChannelInput } from '../channel/connection-ports.ts';
import type { ConnectionLoss } from '../../../../src/protocol/disconnects.ts';
import type { TransportActors } from '../../../../src/machines/peer-ports.ts';
import { plainActor } from '../../../../src/machines/port.ts';
import type { Behaviour } from '../../../../src/machines/port.ts';
import { stopTimesWith } from '../../../processes/src/process.machine.ts';
import { stateName } from '../../../../src/machines/names.ts';
import { stdioChannelChart } from './stdio-channel.machine.ts';
import type { StdioChannelEvent, StdioChannelSnapshot } from './stdio-channel.machine.ts';
import type { ProcessEmitted, StopTimes } from '../../../processes/src/process.machine.ts';
import { processRestart } from '../channel/restart-option.ts';
import type { ChildPipes, ChildScope, ProcessActor } from '../../../processes/src/child.actor.ts';
import {
  environmentFor,
  assertInheritEnv,
  withheldVariables,
} from '../../../processes/src/environment.ts';
import type { Environment, InheritEnv } from '../../../processes/src/environment.ts';
import { processActor } from '../../../processes/src/child.actor.ts';
import { StderrLog } from '../../../processes/src/stderr-log.ts';
import { sinkOf, sourceOf } from '../../../../src/transports/stdio.ts';
import { chartActor } from '../../../../src/actors/transitions.ts';
import type { MachineActor } from '../../../../src/actors/transitions.ts';
import type { ChannelKind, ChannelTools } from '../channel/channel-kind.ts';

/** The process to launch. */
export interface StdioEntry {
  /** Program name or path. Run without a shell. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Added to the variables inherited from the host. */
  readonly env?: Environment | undefined;
  /** Default: the host's working directory. */
  readonly cwd?: string | undefined;
}

/** Options for launching and stopping a server. */
export interface StdioOptions {
  /** Timeouts of the shutdown steps. */
  readonly stop?: { readonly [K in keyof StopTimes]?: number | undefined } | undefined;
  /** Variables inherited from the host besides the essential ones. */
  readonly inheritEnv?: InheritEnv | undefined;
  /**
   * True if the server and its children end when the host is killed. Default: true on Linux and
   * macOS, implemented by a shell that waits beside the server.
   */
  readonly endsWithHost?: boolean | undefined;
}

/** Channel kind for launched processes. */
export interface StdioChannelKind extends ChannelKind {
  /** The tail of the processes' stderr, and the total written. */
  readonly stderr: { readonly text: string; readonly bytes: number };
  readonly lastWords: string;
  /** Id of the current or last process. */
  readonly pid: number | undefined;
  /** Number of processes started. */
  readonly launches: number;
}

/**
 * Reaches a server through a process, a new one per channel.
 *
 * @throws {RangeError} an option is out of range
 */
export function stdioChannel(entry: StdioEntry, options: StdioOptions = {}): StdioChannelKind {
  const { inheritEnv = false, endsWithHost = true } = options;
  assertInheritEnv(inheritEnv);
  const launched: Launched = {
    log: new StderrLog(),
    stderrFrom: 0,
    launches: 0,
    pid: undefined,
  };
  const plan: Plan = {
    entry,
    inheritEnv,
    endsWithHost,
    times: stopTimesWith(options.stop),
    launched,
  };
  return {
    name: basename(String(entry.command)),
    shows: 'pipe',
    restart: processRestart,
    eraKey: keyOf(entry),
    logic: (tools) =>
      plainActor<ChannelEvent, ChannelInput>(
        ({ input }) => new StdioChannel(plan, tools, input.connection),
      ),
    get stderr() {
      return { text: launched.log.text, bytes: launched.log.bytes };
    },
    get lastWords() {
      return lastWordsOf(launched);
    },
    get pid() {
      return launched.pid;
    },
    get launches() {
      return launched.launches;
    },
  };
}

/** Key that identifies a server: a digest, because the environment may contain secrets. */
function keyOf({ command, args = [], env = {}, cwd = '' }: StdioEntry): string {
  const variables = Object.keys(env).sort();
  const text = JSON.stringify([command, args, variables.map((name) => [name, env[name]]), cwd]);
  return `stdio:${createHash('sha256').update(text).digest('base64url')}`;
}

/** State shared by the processes of one connection. */
interface Launched {
  readonly log: StderrLog;
  /** Bytes written to stderr before the current or last process. */
  stderrFrom: number;
  launches: number;
  pid: number | undefined;
}

function lastWordsOf({ log, stderrFrom }: Launched): string {
  return log.lastLines(stderrFrom);
}

interface Plan extends Required<Pick<StdioOptions, 'inheritEnv' | 'endsWithHost'>> {
  readonly entry: StdioEntry;
  readonly times: StopTimes;
  readonly launched: Launched;
}

interface StdioChannelView {
  readonly state: string;
  readonly machines: readonly MachineActor[];
}

class StdioChannel implements Behaviour<ChannelEvent> {
  readonly #plan: Plan;
  readonly #tools: ChannelTools;
  readonly #connection: ChannelInput['connection'];
  readonly #process: ProcessActor;
  #state: StdioChannelSnapshot = stdioChannelChart.initial;
  /** Fires if the process does not soon report why its pipe failed. */
  #lossTimer: unknown;
  #ends: TransportActors | undefined;

  constructor(plan: Plan, tools: ChannelTools, connection: ChannelInput['connection']) {
    this.#plan = plan;
    this.#tools = tools;
    this.#connection = connection;
    plan.launched.stderrFrom = plan.launched.log.bytes;
    this.#process = processActor(this.#scope(), plan.times);
    this.#process.on('*', (report) => this.#hear(report));
    this.#process.subscribe({ error: (error) => this.#failed(error) });
    this.#process.start();
  }

  get view(): StdioChannelView {
    const machines = [
      chartActor('stdio-channel', () => this.#state),
      { machine: 'process', actor: this.#process },
    ];
    return { state: stateName(this.#state), machines };
  }

  receive(event: ChannelEvent): void {
    switch (event.type) {
      case 'channel.close':
        return this.#close();
      case 'input.ended':
        return this.#ail({ kind: 'input-ended' });
      case 'output.broken':
        return this.#ail({ kind: 'output-broken', error: event.error });
      case 'channel.negotiated':
      // A pipe works the same in every revision.
    }
  }

  /** Kills the process if still running. */
  stop(): void {
    this.#move({ type: 'channel.stopped' });
    this.#process.stop();
  }

  #scope(): ChildScope {
    const { entry, endsWithHost, launched } = this.#plan;
    const { clock, report, stderr, observed } = this.#tools;
    const environment = () => this.#environment;
    const tell = (text: string | undefined) => {
      if (text !== undefined) stderr(text);
    };
    return {
      // Read at launch and not retained: a process has many variables.
      get command() {
        const { command, args, cwd } = entry;
        return { command, args, cwd, env: environment() };
      },
      isWatched: endsWithHost,
      stderr: {
        push: (chunk) => tell(launched.log.push(chunk)),
        end: () => tell(launched.log.end()),
      },
      clock,
      report,
      observed,
      launched: (pipes) => {
        this.#ends = this.#endsOf(pipes);
      },
    };
  }

  get #environment() {
    const { entry, inheritEnv } = this.#plan;
    return environmentFor(entry.env, inheritEnv);
  }

  #endsOf({ stdin, stdout }: ChildPipes): TransportActors {
    const { limits, report } = this.#tools;
    const { maxLineBytes, maxDepth, readAheadBytes, maxOutboundBytes } = limits;
    const reading = { maxLineBytes, maxDepth, readAheadBytes, report };
    return {
      reader: readerActor(sourceOf(stdout), reading),
      writer: writerActor(sinkOf(stdin), { maxOutboundBytes, report, peer: 'server' }),
    };
  }

  #hear(report: ProcessEmitted): void {
    const { launched } = this.#plan;
    switch (report.type) {
      case 'process.launched':
        launched.launches++;
        launched.pid = report.pid;
        return this.#open();
      case 'process.failed':
        return this.#lost({ kind: 'spawn-failed', error: report.error });
      case 'process.exited': {
        const { code, signal } = report;
        const stderr = this.#lastWords;
        const withheld = withheldVariables(stderr, this.#environment);
        const hint = withheld.length === 0 ? {} : { withheld };
        return this.#lost({ kind: 'exited', code, signal, stderr, ...hint });
      }
      case 'process.gone':
        return this.#gone(report.group);
    }
  }

  #open(): void {
    if (!this.#ends || !this.#move({ type: 'process.launched' })) return;
    this.#connection.send({ type: 'channel.opened', ends: this.#ends });
  }

  #ail(loss: ConnectionLoss): void {
    if (!this.#move({ type: 'pipe.failed' })) return;
    const { drainMs } = this.#plan.times;
    this.#lossTimer = this.#tools.clock.setTimeout(() => {
      this.#lost({ ...loss, stderr: this.#lastWords } as ConnectionLoss);
    }, drainMs);
  }

  #lost(loss: ConnectionLoss): void {
    if (!this.#move({ type: 'channel.lost' })) return;
    this.#connection.send({ type: 'channel.lost', loss });
  }

  #failed(error: unknown): void {
    this.#lost({ kind: 'failure', error });
    this.#gone('empty');
  }

  #close(): void {
    if (!this.#move({ type: 'channel.close' })) return;
    if (this.#state.matches('closing')) this.#process.send({ type: 'process.stop' });
    else this.#connection.send({ type: 'channel.stopped' });
  }

  #gone(group: 'empty' | 'unkillable'): void {
    if (group === 'unkillable') {
      this.#tools.report({
        level: 'warning',
        name: 'process.unkillable',
        message: `Processes of group ${this.#plan.launched.pid} survived SIGKILL`,
      });
    }
    if (this.#move({ type: 'process.gone' }) && this.#state.matches('stopped')) {
      this.#connection.send({ type: 'channel.stopped' });
    }
  }

  /** @returns false, without effect, if the state ignores the event */
  #move(event: StdioChannelEvent): boolean {
    const before = this.#state;
    this.#state = stdioChannelChart.next(before, event);
    if (this.#state === before) return false;
    this.#tools.clock.clearTimeout(this.#lossTimer);
    return true;
  }

  get #lastWords(): string {
    return lastWordsOf(this.#plan.launched);
  }
}
