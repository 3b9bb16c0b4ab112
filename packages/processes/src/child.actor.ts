/**
 * A child process and its group, as the actor at the port of the process machine: it does what the
 * machine says, and tells what becomes of them.
 *
 * The end of a process is heard from `exit`. Node's `close` comes only once its pipes are closed, and a
 * process that it has started may hold them open for ever.
 */
import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { holdProcess } from '../../../src/actors/clock.ts';
import type { Clock } from '../../../src/actors/clock.ts';
import type { Report } from '../../../src/actors/facts.ts';
import type { ObservedScope } from '../../../src/actors/transitions.ts';
import { childChart } from './child.machine.ts';
import type { ChildChange, ChildSnapshot } from './child.machine.ts';
import { plainActor } from '../../../src/machines/port.ts';
import type { Behaviour } from '../../../src/machines/port.ts';
import type { ChildEvent, ChildInput, StopTimes } from './process.machine.ts';
import { textOfError } from '../../../src/protocol/errors.ts';
import { findCommand, spawnFailed } from './command.ts';
import type { ServerCommand } from './command.ts';
import type { ChildTree, EndSignal, Platform, Unwatched } from './platform.ts';
import { thisPlatform } from './platforms.ts';
import { take } from './started-ahead.ts';
import { createActor } from 'xstate';
import type { Actor } from 'xstate';
import { inspectedAs, unobserved } from '../../../src/actors/transitions.ts';
import { defaultStopTimes, processMachine } from './process.machine.ts';

/** The names of the facts that launched processes report. */
export type ProcessFactName =
  /** A process is started without what would end it if its host is killed. */
  | 'process.unwatched'
  /** Some of a process group was still there after SIGKILL and its time. */
  | 'process.unkillable';

/** The ends of a process's pipes that are ours. */
export interface ChildPipes {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Node's own messages, if the scope has `hasChannel`. */
  readonly channel: ChildProcess;
}

/** What one run of a process is given, as the scope of its machine. */
export interface ChildScope {
  readonly command: ServerCommand;
  /** Whether its group is to end if this process is killed. */
  readonly isWatched: boolean;
  /** Whether it is a Node that is given a channel for messages; by default it is not. */
  readonly hasChannel?: true;
  /** Gets all that it writes to its standard error, and hears that there will be no more. */
  readonly stderr: { push(chunk: Buffer): void; end(): void };
  readonly clock: Clock;
  readonly report: Report<ProcessFactName>;
  /** The connection that the process is shown with. */
  readonly observed?: ObservedScope;
  /** By default the system that this process runs on. */
  readonly platform?: Platform;
  /**
   * Called when it runs, before the machine is told. To miss no output, begin to read it now, and pause
   * it only afterwards.
   */
  launched(pipes: ChildPipes): void;
}

/** The longest wait between two looks at a group whose leader has ended, milliseconds. */
const longestLookMs = 100;

/** The logic of a child process. */
const childActor = plainActor<ChildEvent, ChildInput>(({ input }) => new Child(input));

class Child implements Behaviour<ChildEvent> {
  readonly #process: ChildInput['process'];
  readonly #scope: ChildScope;
  #state: ChildSnapshot = childChart.begun;
  /** Undefined before it is started and once this actor was stopped. */
  #run: ChildTree | undefined = undefined;

  constructor({ process: machine, scope }: ChildInput) {
    this.#process = machine;
    this.#scope = scope as ChildScope;
    this.#launch().catch((error: unknown) => this.#failed(error));
  }

  get view(): { readonly state: ChildSnapshot['value']; readonly pid: number | undefined } {
    return { state: this.#state.value, pid: this.#run?.child.pid };
  }

  receive(event: ChildEvent): void {
    const run = this.#run;
    if (!run) return;
    switch (event.type) {
      case 'input.close':
        return void run.child.stdin.end();
      case 'group.terminate':
        return this.#signal(run, 'SIGTERM');
      case 'group.kill':
        return this.#signal(run, 'SIGKILL');
      case 'output.cut':
        run.child.stdout.destroy();
        run.child.stderr.destroy();
    }
  }

  /** Kills what still runs, because nothing else would end it. */
  stop(): void {
    const run = this.#run;
    if (run) this.#signal(run, 'SIGKILL');
    this.#move('child.abandoned');
    if (!run) return;
    this.#run = undefined;
    run.release();
    for (const stream of run.child.stdio) stream?.destroy();
  }

  #move(type: ChildChange['type']): void {
    this.#state = childChart.next(this.#state, { type });
  }

  #signal(run: ChildTree, signal: EndSignal): void {
    if (this.#state.value !== 'emptied') run.signal(signal);
  }

  async #launch(): Promise<void> {
    const { command, isWatched, hasChannel = false, platform = thisPlatform } = this.#scope;
    const ahead = isWatched && !hasChannel ? await take(command) : undefined;
    const launch =
      ahead ?? (await platform.prepare(await findCommand(command), { isWatched, hasChannel }));
    // Ended before it began.
    if (this.#state.value !== 'looking') return;
    if (launch.unwatched) this.#reportUnwatched(launch.unwatched);
    const run = launch.start();
    if (run.child.pid !== undefined) return this.#started(run, run.child.pid);
    run.child.once('error', (error) => this.#failed(error));
  }

  #failed(error: unknown): void {
    if (this.#state.value !== 'looking') return;
    this.#move('child.abandoned');
    const isOurs = (error as { readonly code?: unknown } | undefined)?.code === 'SPAWN_FAILED';
    const words = `${JSON.stringify(this.#scope.command.command)} could not be started`;
    this.#process.send({
      type: 'child.failed',
      error: isOurs ? error : spawnFailed(`${words}: ${textOfError(error)}`, error),
    });
  }

  #started(run: ChildTree, pid: number): void {
    const { child } = run;
    this.#run = run;
    this.#move('child.started');
    this.#listen(run);
    this.#scope.launched({ stdin: child.stdin, stdout: child.stdout, channel: child });
    this.#process.send({ type: 'child.launched', pid });
  }

  #listen(run: ChildTree): void {
    const { child } = run;
    const { stderr } = this.#scope;
    child.once('exit', (code, signal) => this.#exited(run, { code, signal }));
    // A signal that could not be sent, or a pipe that broke: what matters of it is heard otherwise.
    child.on('error', () => {});
    for (const stream of child.stdio) stream?.on('error', () => {});
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    child.stderr.once('close', () => stderr.end());
    let open = 2;
    const closed = () => {
      if (--open === 0 && this.#run) this.#process.send({ type: 'output.ended' });
    };
    child.stdout.once('close', closed);
    child.stderr.once('close', closed);
  }

  #exited(
    run: ChildTree,
    exit: { readonly code: number | null; readonly signal: string | null },
  ): void {
    if (this.#state.value !== 'running') return;
    this.#move('child.ended');
    const { stdout } = run.child;
    // It may be paused, because the server did not read. It will read no more.
    if (stdout.listenerCount('data') > 0) stdout.resume();
    this.#process.send({ type: 'child.exited', ...exit });
    void this.#awaitOthers(run);
  }

  /** Waits until the group is empty. */
  async #awaitOthers(run: ChildTree): Promise<void> {
    for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, longestLookMs)) {
      // If the system cannot tell, the machine's time ends this.
      const isEmpty = await run.isEmpty().catch(() => false);
      if (this.#run !== run) return;
      if (isEmpty) break;
      await this.#pause(waitMs);
    }
    this.#move('group.empty');
    run.release();
    this.#process.send({ type: 'group.emptied' });
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      holdProcess(this.#scope.clock.setTimeout(resolve, ms));
    });
  }

  #reportUnwatched(why: Unwatched): void {
    const reasons = {
      'no shell': 'this system has no /bin/sh',
      'unusual variables': 'a shell would drop variables of its environment, by their names',
    };
    this.#scope.report({
      level: 'info',
      name: 'process.unwatched',
      message: `${this.#scope.command.command} would outlive this process if that is killed: ${reasons[why]}`,
    });
  }
}

/** The chart of a process, with what starts and ends real ones. */
const realProcessMachine = processMachine.provide({ actors: { child: childActor } });

/** One run of a process. Send it `process.stop`; the last that it emits is `process.gone`. */
export type ProcessActor = Actor<typeof processMachine>;

/** Makes the actor of a process. Listen to it, then start it. */
export function processActor(scope: ChildScope, stop: Partial<StopTimes> = {}): ProcessActor {
  const { clock } = scope;
  const times = { ...defaultStopTimes, ...stop };
  return createActor(realProcessMachine, {
    id: 'process',
    input: { scope, times },
    clock,
    ...inspectedAs('process', scope.observed ?? unobserved),
  });
}
