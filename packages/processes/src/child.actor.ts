/**
 * The `child` actor of the process machine: starts a child process, signals its process group, and
 * reports their ends.
 *
 * It takes the end of a process from `exit`. Node emits `close` only after all pipes are closed,
 * and a grandchild may hold them open forever.
 */
import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { refTimer } from '../../../src/actors/clock.ts';
import type { Clock } from '../../../src/actors/clock.ts';
import type { Report } from '../../../src/actors/facts.ts';
import type { ObservedScope } from '../../../src/actors/transitions.ts';
import { childChart } from './child.machine.ts';
import type { ChildChange, ChildSnapshot } from './child.machine.ts';
import { plainActor } from '../../../src/machines/port.ts';
import type { Behaviour } from '../../../src/machines/port.ts';
import type { ChildCommand, ChildInput, StopTimes } from './process.machine.ts';
import { textOfError } from '../../../src/protocol/errors.ts';
import { resolveCommand, spawnFailed } from './command.ts';
import type { ServerCommand } from './command.ts';
import type { ChildTree, KillSignal, Platform, UnwatchedReason } from './platform.ts';
import { thisPlatform } from './platforms.ts';
import { takePrestarted } from './prestart.ts';
import { createActor } from 'xstate';
import type { Actor } from 'xstate';
import { inspectOptions, unobserved } from '../../../src/actors/transitions.ts';
import { defaultStopTimes, processMachine } from './process.machine.ts';

/** Names of the facts that processes report. */
export type ProcessFactName =
  /** A process runs without the watcher that kills it if its host is killed. */
  | 'process.unwatched'
  /** Processes of the group were still alive when `killMs` had passed after SIGKILL. */
  | 'process.unkillable';

/** Our ends of a process's pipes. */
export interface ChildPipes {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Source of Node's IPC messages, if the scope has `hasChannel`. */
  readonly channel: ChildProcess;
}

/** Scope of a process machine: the command and the consumers of its streams. */
export interface ChildScope {
  readonly command: ServerCommand;
  /** True if the process group must end when this process is killed. */
  readonly isWatched: boolean;
  /** True if the child is Node and gets an IPC channel. Default: false. */
  readonly hasChannel?: true;
  /** Consumer of the child's stderr; `end` is called after the last chunk. */
  readonly stderr: { push(chunk: Buffer): void; end(): void };
  readonly clock: Clock;
  readonly report: Report<ProcessFactName>;
  /** The connection under which the process is observed. */
  readonly observed?: ObservedScope;
  /** Default: the current platform. */
  readonly platform?: Platform;
  /**
   * Called when the child is running, before the machine receives `child.launched`. Start reading
   * the output here, and pause only afterwards, to lose nothing.
   */
  launched(pipes: ChildPipes): void;
}

/** Maximum interval between two checks whether the group is empty. */
const longestLookMs = 100;

/** Logic of the `child` actor. */
const childActor = plainActor<ChildCommand, ChildInput>(({ input }) => new Child(input));

class Child implements Behaviour<ChildCommand> {
  readonly #process: ChildInput['process'];
  readonly #scope: ChildScope;
  #state: ChildSnapshot = childChart.initial;
  /** The running child; undefined before launch and after this actor stops. */
  #run: ChildTree | undefined = undefined;

  constructor({ process: machine, scope }: ChildInput) {
    this.#process = machine;
    this.#scope = scope as ChildScope;
    this.#launch().catch((error: unknown) => this.#failed(error));
  }

  get view(): { readonly state: ChildSnapshot['value']; readonly pid: number | undefined } {
    return { state: this.#state.value, pid: this.#run?.child.pid };
  }

  receive(event: ChildCommand): void {
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

  /** Kills the remaining processes, because nothing else would end them. */
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

  #signal(run: ChildTree, signal: KillSignal): void {
    if (this.#state.value !== 'emptied') run.signal(signal);
  }

  async #launch(): Promise<void> {
    const { command, isWatched, hasChannel = false, platform = thisPlatform } = this.#scope;
    const ahead = isWatched && !hasChannel ? await takePrestarted(command) : undefined;
    const launch =
      ahead ?? (await platform.prepare(await resolveCommand(command), { isWatched, hasChannel }));
    // The actor was stopped before the launch.
    if (this.#state.value !== 'resolving') return;
    if (launch.unwatched) this.#reportUnwatched(launch.unwatched);
    const run = launch.start();
    if (run.child.pid !== undefined) return this.#started(run, run.child.pid);
    run.child.once('error', (error) => this.#failed(error));
  }

  #failed(error: unknown): void {
    if (this.#state.value !== 'resolving') return;
    this.#move('child.abandoned');
    const isOurs = (error as { readonly code?: unknown } | undefined)?.code === 'SPAWN_FAILED';
    const message = `${JSON.stringify(this.#scope.command.command)} could not be started`;
    this.#process.send({
      type: 'child.failed',
      error: isOurs ? error : spawnFailed(`${message}: ${textOfError(error)}`, error),
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
    // Failed signals and broken pipes show up as `exit` or `close`.
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
    // Output may be paused because the server did not read. It will not read again.
    if (stdout.listenerCount('data') > 0) stdout.resume();
    this.#process.send({ type: 'child.exited', ...exit });
    void this.#awaitEmptyGroup(run);
  }

  /** Polls until the group is empty. */
  async #awaitEmptyGroup(run: ChildTree): Promise<void> {
    for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, longestLookMs)) {
      // If the system cannot tell, the machine's timeout ends the polling.
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
      refTimer(this.#scope.clock.setTimeout(resolve, ms));
    });
  }

  #reportUnwatched(why: UnwatchedReason): void {
    const reasons = {
      'no shell': 'this system lacks /bin/sh',
      'unusual variables': 'its environment has variable names that a shell would drop',
    };
    this.#scope.report({
      level: 'info',
      name: 'process.unwatched',
      message: `${this.#scope.command.command} will keep running if this process is killed: ${reasons[why]}`,
    });
  }
}

/** The process machine with the real `child` actor. */
const realProcessMachine = processMachine.provide({ actors: { child: childActor } });

/** Actor of one process. Send it `process.stop`; its last emitted event is `process.gone`. */
export type ProcessActor = Actor<typeof processMachine>;

/** Creates the actor of a process. Subscribe to it, then start it. */
export function processActor(scope: ChildScope, stop: Partial<StopTimes> = {}): ProcessActor {
  const { clock } = scope;
  const times = { ...defaultStopTimes, ...stop };
  return createActor(realProcessMachine, {
    id: 'process',
    input: { scope, times },
    clock,
    ...inspectOptions('process', scope.observed ?? unobserved),
  });
}
