/**
 * The way to a server that is launched as a process, over its standard streams.
 *
 * @see MCP 2025-11-25, basic/transports, "stdio"
 */
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { readerActor } from '../../actors/reader/reader.actor.ts';
import { writerActor } from '../../actors/writer/writer.actor.ts';
import type {
  ChannelEnds,
  ChannelEvent,
  ChannelInput,
  Loss,
} from '../../machines/connection-ports.ts';
import { plainActor } from '../../machines/port.ts';
import type { Behaviour } from '../../machines/port.ts';
import { stopTimesWith } from '../../machines/process.machine.ts';
import type { ProcessReport, StopTimes } from '../../machines/process.machine.ts';
import { processRestart } from '../../machines/restart-policy.ts';
import type { ChildPipes, ChildScope } from '../../processes/child.actor.ts';
import {
  environmentFor,
  refuseInheritEnv,
  withheldVariables,
} from '../../processes/environment.ts';
import type { Environment, InheritEnv } from '../../processes/environment.ts';
import { processActor } from '../../processes/start-process.ts';
import type { ProcessActor } from '../../processes/start-process.ts';
import { StderrLog } from '../../processes/stderr-log.ts';
import { sinkOf, sourceOf } from '../../transports/stdio.ts';
import type { MachineActor } from '../../actors/transitions.ts';
import type { ChannelKind, ChannelTools } from '../channel/channel-kind.ts';

/** What is launched. */
export interface StdioEntry {
  /** A program's name or path. No shell reads it. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Added to what is inherited of the host's environment. */
  readonly env?: Environment | undefined;
  /** By default the host's working directory. */
  readonly cwd?: string | undefined;
}

/** How a server is launched and ended. */
export interface StdioOptions {
  /** How long each means of ending it has. */
  readonly stop?: { readonly [K in keyof StopTimes]?: number | undefined } | undefined;
  /** What it inherits of the host's environment, beside what every process needs. */
  readonly inheritEnv?: InheritEnv | undefined;
  /**
   * Whether the server, and what it has started, is ended if the host is killed. By default it is,
   * on Linux and macOS, by a shell that waits for that beside it.
   */
  readonly endsWithHost?: boolean | undefined;
}

/** A {@link ChannelKind} whose processes can be looked at. */
export interface StdioChannelKind extends ChannelKind {
  /** The last that its processes have written to their standard error, and how much it was. */
  readonly stderr: { readonly text: string; readonly bytes: number };
  readonly lastWords: string;
  /** Of the process that runs, or ran last. */
  readonly pid: number | undefined;
  /** How many processes were started. */
  readonly launches: number;
}

/**
 * Reaches a server through a process, a new one for each channel.
 *
 * @throws {RangeError} an option is wrong; names it
 */
export function stdioChannel(entry: StdioEntry, options: StdioOptions = {}): StdioChannelKind {
  const { inheritEnv = false, endsWithHost = true } = options;
  refuseInheritEnv(inheritEnv);
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

/** What makes it the same server to us. A digest: the environment may hold secrets. */
function keyOf({ command, args = [], env = {}, cwd = '' }: StdioEntry): string {
  const variables = Object.keys(env).sort();
  const text = JSON.stringify([command, args, variables.map((name) => [name, env[name]]), cwd]);
  return `stdio:${createHash('sha256').update(text).digest('base64url')}`;
}

/** What the processes of one connection have in common. */
interface Launched {
  readonly log: StderrLog;
  /** How much was written to stderr before the process that runs, or ran last. */
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

type Phase =
  | { readonly state: 'starting' | 'open' }
  /** One of its pipes has failed. Nearly always the process has ended, which says more. */
  | { readonly state: 'ailing'; readonly timer: unknown }
  /** The connection knows. The process may still run. */
  | { readonly state: 'lost' }
  | { readonly state: 'closing' }
  /** Nothing is left of the process. */
  | { readonly state: 'gone' }
  | { readonly state: 'stopped' };

interface StdioChannelView {
  readonly state: Phase['state'];
  readonly pid: number | undefined;
  readonly machines: readonly MachineActor[];
}

class StdioChannel implements Behaviour<ChannelEvent> {
  readonly #plan: Plan;
  readonly #tools: ChannelTools;
  readonly #connection: ChannelInput['connection'];
  readonly #process: ProcessActor;
  #phase: Phase = { state: 'starting' };
  #ends: ChannelEnds | undefined;

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
    const machines = [{ machine: 'process', actor: this.#process }] as const;
    return { state: this.#phase.state, pid: this.#plan.launched.pid, machines };
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
      // A pipe is the same in every revision.
    }
  }

  /** Kills what still runs. */
  stop(): void {
    this.#become({ state: 'stopped' });
    this.#process.stop();
  }

  #scope(): ChildScope {
    const { entry, endsWithHost, launched } = this.#plan;
    const { clock, report, stderr, observed } = this.#tools;
    const { command, args, cwd } = entry;
    const tell = (text: string | undefined) => {
      if (text !== undefined) stderr(text);
    };
    return {
      command: { command, args, cwd, env: this.#environment },
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

  #endsOf({ stdin, stdout }: ChildPipes): ChannelEnds {
    const { limits, report } = this.#tools;
    const options = { ...limits, report };
    return {
      reader: readerActor(sourceOf(stdout), options),
      writer: writerActor(sinkOf(stdin), { ...options, peer: 'server' }),
    };
  }

  #hear(report: ProcessReport): void {
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
    if (this.#phase.state !== 'starting' || !this.#ends) return;
    this.#become({ state: 'open' });
    this.#connection.send({ type: 'channel.opened', ends: this.#ends });
  }

  #ail(loss: Loss): void {
    if (this.#phase.state !== 'open') return;
    const { drainMs } = this.#plan.times;
    const timer = this.#tools.clock.setTimeout(() => {
      this.#lost({ ...loss, stderr: this.#lastWords } as Loss);
    }, drainMs);
    this.#become({ state: 'ailing', timer });
  }

  #lost(loss: Loss): void {
    if (!['starting', 'open', 'ailing'].includes(this.#phase.state)) return;
    this.#become({ state: 'lost' });
    this.#connection.send({ type: 'channel.lost', loss });
  }

  #failed(error: unknown): void {
    this.#lost({ kind: 'failure', error });
    this.#gone('empty');
  }

  #close(): void {
    if (this.#phase.state === 'gone') return this.#stopped();
    if (this.#phase.state === 'closing' || this.#phase.state === 'stopped') return;
    this.#become({ state: 'closing' });
    this.#process.send({ type: 'process.stop' });
  }

  #gone(group: 'empty' | 'unkillable'): void {
    if (group === 'unkillable') {
      this.#tools.report({
        level: 'warning',
        name: 'process.unkillable',
        message: `Some of the process group ${this.#plan.launched.pid} is still there after SIGKILL`,
      });
    }
    if (this.#phase.state === 'closing') return this.#stopped();
    this.#become({ state: 'gone' });
  }

  #stopped(): void {
    this.#become({ state: 'stopped' });
    this.#connection.send({ type: 'channel.stopped' });
  }

  #become(phase: Phase): void {
    if (this.#phase.state === 'ailing') this.#tools.clock.clearTimeout(this.#phase.timer);
    this.#phase = phase;
  }

  get #lastWords(): string {
    return lastWordsOf(this.#plan.launched);
  }
}
