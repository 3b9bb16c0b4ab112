/** A real process under its machine, and what it tells. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { expect } from 'vitest';
import { systemClock } from '../../../src/actors/clock.ts';
import type { Clock } from '../../../src/actors/clock.ts';
import type { Fact } from '../../../src/actors/facts.ts';
import { stateName } from '../../../src/machines/names.ts';
import { stopTimesWith } from '../src/process.machine.ts';
import type { ProcessEmitted, StopTimes } from '../src/process.machine.ts';
import type { ProcessFactName, ProcessActor } from '../src/child.actor.ts';
import type { Platform } from '../src/platform.ts';
import { environmentFor } from '../src/environment.ts';
import { processActor } from '../src/child.actor.ts';
import { StderrLog } from '../src/stderr-log.ts';
import { expectEmpty } from './process-table.ts';

export interface StartOptions {
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string };
  /** By default all are short. */
  readonly times?: Partial<StopTimes>;
  readonly isWatched?: boolean;
  /** By default the one that this runs on. */
  readonly platform?: Platform;
  /** By default the real one. */
  readonly clock?: Clock;
  /** Leave stdout unread. */
  readonly isUnread?: true;
}

const started = new Set<Started>();

/** Waits until nothing is left of what a test has started. */
export async function endAll(): Promise<void> {
  const all = [...started];
  started.clear();
  for (const each of all) each.kill();
  for (const { actor, gone } of all) if (actor.getSnapshot().status !== 'stopped') await gone;
  for (const { pid } of all) if (pid !== undefined) expectEmpty(pid);
}

/** Starts a command. */
export function start(command: string, args: readonly string[] = [], options: StartOptions = {}) {
  const process = new Started(command, args, options);
  started.add(process);
  return process;
}

/** Starts a script of the POSIX shell. */
export const script = (text: string, options?: StartOptions): Started =>
  start('sh', ['-c', text], options);

export class Started {
  readonly reports: ProcessEmitted[] = [];
  readonly facts: Fact[] = [];
  /** The states that it has been in, in order. */
  readonly states: string[] = [];
  readonly stderr = new StderrLog();
  readonly stderrEvents: string[] = [];
  readonly actor: ProcessActor;
  /** Resolves once nothing of it is left. */
  readonly gone: Promise<ProcessEmitted>;
  stdin: Writable | undefined;
  stdout: Readable | undefined;
  #lines: AsyncIterator<string> | undefined;

  constructor(command: string, args: readonly string[], options: StartOptions) {
    const { cwd, env, isWatched = true, isUnread, platform, clock = systemClock } = options;
    const times = { inputMs: 60_000, terminateMs: 60_000, killMs: 60_000, ...options.times };
    const tell = (text = '') => void (text !== '' && this.stderrEvents.push(text));
    this.actor = processActor(
      {
        command: { command, args, cwd, env: environmentFor(env) },
        isWatched,
        ...(platform ? { platform } : {}),
        stderr: {
          push: (chunk) => tell(this.stderr.push(chunk)),
          end: () => tell(this.stderr.end()),
        },
        clock,
        report: (fact: Fact<ProcessFactName>) => this.facts.push(fact),
        launched: ({ stdin, stdout }) => {
          this.stdin = stdin;
          this.stdout = stdout;
          if (isUnread) return;
          this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
        },
      },
      stopTimesWith(times),
    );
    this.actor.on('*', (report) => this.reports.push(report));
    this.actor.subscribe((snapshot) => {
      const state = stateName(snapshot);
      if (this.states.at(-1) !== state) this.states.push(state);
    });
    this.gone = this.told('process.gone');
    this.actor.start();
  }

  get pid(): number | undefined {
    const [report] = this.reports;
    return report?.type === 'process.launched' ? report.pid : undefined;
  }

  /** The names of what it has told. */
  get order(): readonly string[] {
    return this.reports.map(({ type }) => type.replace('process.', ''));
  }

  /** Resolves with what it tells of this type. */
  told<T extends ProcessEmitted['type']>(type: T): Promise<Extract<ProcessEmitted, { type: T }>> {
    type Told = Extract<ProcessEmitted, { type: T }>;
    const before = this.reports.find((report): report is Told => report.type === type);
    if (before) return Promise.resolve(before);
    return new Promise((resolve) => {
      const { unsubscribe } = this.actor.on(type, (report) => {
        unsubscribe();
        resolve(report as Told);
      });
    });
  }

  /** The next line of its output. */
  async line(): Promise<string> {
    await this.told('process.launched');
    const line = await this.#lines?.next();
    expect(line?.done).toBe(false);
    return line?.value as string;
  }

  /** The rest of its output. */
  async lines(): Promise<readonly string[]> {
    await this.told('process.launched');
    const lines: string[] = [];
    for await (const line of { [Symbol.asyncIterator]: () => this.#lines as AsyncIterator<string> })
      lines.push(line);
    return lines;
  }

  stop(): void {
    this.actor.send({ type: 'process.stop' });
  }

  kill(): void {
    if (this.actor.getSnapshot().status === 'active') this.actor.send({ type: 'process.kill' });
  }

  /** Resolves once its output has ended for us. */
  async outputEnded(): Promise<void> {
    if (this.stdout?.closed === false) await once(this.stdout, 'close');
  }
}
