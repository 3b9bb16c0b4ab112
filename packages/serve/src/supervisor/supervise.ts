/** A process that holds its host's pipe while another one serves, and starts that one again when it ends. */
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import { createActor } from 'xstate';
import { systemClock } from '../../../../src/actors/clock.ts';
import type { Fact } from '../../../../src/actors/facts.ts';
import { jsonForm } from '../../../diagnostics/src/log/log-line.ts';
import { createLog, logVerbosities } from '../../../diagnostics/src/log/log.ts';
import type { Log, LogThreshold } from '../../../diagnostics/src/log/log.ts';
import type { ExitStatus } from '../../../processes/src/process.machine.ts';
import { exitText, supervisorMachine, supervisorRestart } from './supervisor.machine.ts';
import type { SupervisorOutput, SupervisorReport } from './supervisor.machine.ts';
import { environmentFor } from '../../../processes/src/environment.ts';
import { stderrSink } from '../stderr-sink.ts';
import { relayActor } from './relay.actor.ts';
import type { RelayScope } from './relay.actor.ts';
import { supervisedVariable } from './supervised.ts';

export { supervisedVariable } from './supervised.ts';

/** Facts of a supervisor. */
type SupervisorFact = Fact<
  /** The server has ended, and is started again. */
  | 'server.restarting'
  /** The server is not started again: too many of its processes have ended, or it cannot have the session. */
  | 'server.abandoned'
>;

export interface SuperviseOptions {
  /** The arguments of Node that start the server: its own options, the script, and that one's arguments. */
  readonly args: readonly string[];
  /** By default `warning`. */
  readonly logLevel?: LogThreshold | undefined;
}

/** A line that exceeds this is passed on in pieces, and nothing is known of it. A server refuses one by default that exceeds a quarter. */
const maxLineBytes = 64 * 1024 ** 2;

/** A threshold of a log; undefined for any other value. */
export function readThreshold(value: unknown): LogThreshold | undefined {
  return logVerbosities.find((each) => each === value);
}

/** The command line of this process, for another one. */
export function ownCommandLine(): readonly string[] {
  return [...process.execArgv, ...process.argv.slice(1)];
}

/**
 * Serves the host of this process by another process, over stdin and stdout, until the host leaves, a signal comes, or the
 * server ends for good.
 *
 * @returns the exit code, once everything is written
 */
export async function supervise({
  args,
  logLevel: level = 'warning',
}: SuperviseOptions): Promise<number> {
  const log = createLog({ level, form: jsonForm, sink: stderrSink() });
  const scope: RelayScope = {
    command: {
      command: process.execPath,
      args,
      env: environmentFor({ [supervisedVariable]: '1' }, true),
    },
    input: process.stdin,
    output: process.stdout,
    stderr: passToStderr,
    report: log.report,
    maxLineBytes,
  };
  const machine = supervisorMachine.provide({ actors: { relay: relayActor } });
  const supervisor = createActor(machine, {
    input: { scope, restart: supervisorRestart, random: Math.random },
    clock: systemClock,
  });
  supervisor.on('server.lost', (lost) => log.report(restarting(lost)));
  const ended = new Promise<SupervisorOutput>((resolve, reject) => {
    supervisor.subscribe({
      complete: () => resolve(supervisor.getSnapshot().output as SupervisorOutput),
      error: reject,
    });
  });
  const stop = () => supervisor.send({ type: 'supervisor.stop' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  supervisor.start();
  const { exit, problem } = await ended;
  return await codeAtEnd(exit, problem, log);
}

async function codeAtEnd(
  exit: ExitStatus | undefined,
  problem: string | undefined,
  log: Log,
): Promise<number> {
  if (problem !== undefined) {
    const fact: SupervisorFact = { level: 'error', name: 'server.abandoned', message: problem };
    log.report(fact);
  }
  await written(process.stdout);
  await log.close();
  if (problem !== undefined || !exit) return 1;
  return exit.code ?? 128 + (constants.signals[exit.signal as NodeJS.Signals] ?? 0);
}

function restarting({ exit, delayMs }: SupervisorReport): SupervisorFact {
  const when = delayMs === 0 ? '' : ` in ${Math.round(delayMs)} ms`;
  return {
    level: 'warning',
    name: 'server.restarting',
    message: `The server ended ${exitText(exit)} and is started again${when}; its host stays connected`,
    details: { ...exit },
  };
}

/** Limit for stderr of the server that waits for a reader, bytes. */
const maxUnreadBytes = 1024 ** 2;

function passToStderr(chunk: Buffer): void {
  const { stderr } = process;
  if (stderr.writable && stderr.writableLength <= maxUnreadBytes) stderr.write(chunk);
}

/** Timeout for a host that reads none of the remaining output, ms. */
const stallTimeoutMs = 1000;

/** Resolves once the stream has everything, or its reader takes no more. */
async function written(stream: Writable): Promise<void> {
  for (let left = Infinity; stream.writable && stream.writableLength < left;) {
    left = stream.writableLength;
    if (left === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, stallTimeoutMs);
      stream.write('', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
