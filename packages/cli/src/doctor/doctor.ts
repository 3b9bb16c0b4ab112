/** `mcp-actors doctor`: shows what serving processes wait for. */
import { doctorExchange, printableJson } from 'mcp-actors/internal';
import { UsageError, print } from '../command.ts';
import { queryBySignal, queryOnPipe, notServing } from './ask.ts';
import type { DoctorOutcome } from './ask.ts';
import { servingProcess, servingProcesses } from './process-table.ts';
import { optionsText } from '../options/option.ts';
import type { OptionTable } from '../options/option.ts';
import { commandOf, helpOption } from '../options/parse-options.ts';
import type { Values } from '../options/parse-options.ts';

const defaultTimeoutMs = 2000;

export const doctorOptions = {
  json: {
    kind: 'switch',
    help: 'Print a JSON array with one object per session or connection, including its pid.',
  },
  whole: {
    kind: 'switch',
    help: 'Print all details of every session of an HTTP server, instead of one line per blocked session.',
  },
  timeout: {
    kind: 'duration',
    bounds: { min: 1, max: 600_000 },
    default: defaultTimeoutMs,
    help: 'Timeout for the answer of a process.',
  },
  help: helpOption,
} as const satisfies OptionTable;

const help = `Usage: mcp-actors doctor [options] [PID...]

Shows what serving processes wait for: pending requests and their age, states,
queue sizes, and a plain explanation of what blocks progress.
Without a PID it queries all your serving mcp-actors processes on this machine. For
HTTP servers it prints the endpoint and a line per blocked session.
For mcp-actors call and shell it prints a line per connection.

Without this command: kill -USR2 PID prints the same to the process's stderr.
Windows has no such signal; there each process listens on the pipe \\\\.\\pipe\\mcp-actors-PID.

Options:
${optionsText(doctorOptions)}

Exit status: 0 if every queried process has answered; 1 if there is none
or one does not answer; 2 for a usage error.
`;

export const command = commandOf(
  'mcp-actors doctor',
  { options: doctorOptions, help },
  ({ values, positionals }) => examine(values, positionals, doctorExchange),
);

/** Queries the processes, prints their answers, and resolves with the exit code. */
export async function examine(
  values: Values<typeof doctorOptions>,
  wanted: readonly string[],
  { pipes }: { readonly pipes: string | undefined },
): Promise<number> {
  const waiting = pipes === undefined ? waitingForSignal : waitingOnPipe(pipes);
  const pids = wanted.length > 0 ? wanted.map(readPid) : waiting.pids();
  const timeoutMs = values.timeout ?? defaultTimeoutMs;
  const asked = await Promise.all(pids.map((pid) => waiting.ask(pid, timeoutMs)));
  // Some processes found belong to another user or have ended since.
  const outcomes =
    wanted.length > 0 ? asked : asked.filter((outcome, at) => !isNotServing(outcome, pids[at]));
  const answers = outcomes.flatMap((outcome) => (outcome.ok ? [outcome.answer] : []));
  if (values.json) {
    const told = answers.flatMap(({ pid, version, sessions, connections = [] }) => [
      ...sessions.map((session) => ({ pid, version, ...session })),
      ...connections.map((connection) => ({ pid, version, connection })),
    ]);
    await print(process.stdout, `${printableJson(told, 2)}\n`);
  } else {
    await print(
      process.stdout,
      answers.map(({ text, whole = text }) => (values.whole ? whole : text)).join('\n'),
    );
  }
  if (outcomes.length === 0)
    return printProblems(['No serving mcp-actors process of yours on this machine']);
  const problems = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.problem]));
  // Print a shared problem once.
  return printProblems([...new Set(problems)]);
}

/** Finds and queries processes. */
interface Waiting {
  pids(): readonly number[];
  ask(pid: number, timeoutMs: number): Promise<DoctorOutcome>;
}

const waitingForSignal: Waiting = {
  pids: everyProcess,
  ask: async (pid, timeoutMs) =>
    servingProcess(pid) ? queryBySignal(pid, timeoutMs) : { ok: false, problem: notServing(pid) },
};

const waitingOnPipe = (folder: string): Waiting => ({
  pids: () => doctorExchange.pidsWithPipe(folder),
  ask: (pid, timeoutMs) => queryOnPipe(folder, pid, timeoutMs),
});

const isNotServing = (outcome: DoctorOutcome, pid: number | undefined): boolean =>
  !outcome.ok && outcome.problem === notServing(pid as number);

/** Processes that handle the signal; otherwise all, so that each problem is reported. */
function everyProcess(): readonly number[] {
  const found = servingProcesses();
  const listening = found.filter(({ listens }) => listens);
  return (listening.length > 0 ? listening : found).map(({ pid }) => pid);
}

function readPid(text: string): number {
  const pid = Number(text);
  if (/^\d+$/.test(text) && pid > 0 && Number.isSafeInteger(pid)) return pid;
  throw new UsageError(`doctor: PID must be a process id, got ${JSON.stringify(text)}`);
}

/** Prints the problems and returns the exit code. */
async function printProblems(problems: readonly string[]): Promise<number> {
  for (const problem of problems) await print(process.stderr, `mcp-actors doctor: ${problem}\n`);
  return problems.length === 0 ? 0 : 1;
}
