/** `mcp-actors doctor`: asks serving processes what they wait for. */
import { doctorExchange, printableJson } from 'mcp-actors/internal';
import { UsageError, print } from '../command.ts';
import { ask, askOnPipe, notServing } from './ask.ts';
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
    help: 'Print a JSON array instead: one object for each session or connection, with its pid.',
  },
  whole: {
    kind: 'switch',
    help: 'Print everything of each session of a server over HTTP, and not a line for each that something holds up.',
  },
  timeout: {
    kind: 'duration',
    bounds: { min: 1, max: 600_000 },
    default: defaultTimeoutMs,
    help: 'How long a process may take to answer.',
  },
  help: helpOption,
} as const satisfies OptionTable;

const help = `Usage: mcp-actors doctor [options] [PID...]

Asks processes that serve what they wait for: which requests are pending and since
when, which state, how full the queues are, and in plain words why nothing goes on.
Without a PID, every mcp-actors of yours that serves on this machine. Of one that
serves over HTTP: the endpoint, then a line for each session that something holds up.
Of mcp-actors call and shell: a line for each connection.

The same without this command: kill -USR2 PID writes it to the process's stderr.
Windows has no such signal: there each process listens on a pipe, \\\\.\\pipe\\mcp-actors-PID.

Options:
${optionsText(doctorOptions)}

Exit status: 0 once every process that was asked has answered; 1 if there is none,
or one does not answer; 2 if the command was called wrongly.
`;

export const command = commandOf(
  'mcp-actors doctor',
  { options: doctorOptions, help },
  ({ values, positionals }) => examine(values, positionals, doctorExchange),
);

/** Asks the processes, prints what they answer, and resolves with the exit code. */
export async function examine(
  values: Values<typeof doctorOptions>,
  wanted: readonly string[],
  { pipes }: { readonly pipes: string | undefined },
): Promise<number> {
  const waiting = pipes === undefined ? waitingForSignal : waitingOnPipe(pipes);
  const pids = wanted.length > 0 ? wanted.map(readPid) : waiting.pids();
  const timeoutMs = values.timeout ?? defaultTimeoutMs;
  const asked = await Promise.all(pids.map((pid) => waiting.ask(pid, timeoutMs)));
  // Of those that were found, some are another user's, or have ended meanwhile.
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
  if (outcomes.length === 0) return complain(['No mcp-actors of yours serves on this machine']);
  const problems = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.problem]));
  // A problem that all share is said once.
  return complain([...new Set(problems)]);
}

/** How processes are found and asked. */
interface Waiting {
  pids(): readonly number[];
  ask(pid: number, timeoutMs: number): Promise<DoctorOutcome>;
}

const waitingForSignal: Waiting = {
  pids: everyProcess,
  ask: async (pid, timeoutMs) =>
    servingProcess(pid) ? ask(pid, timeoutMs) : { ok: false, problem: notServing(pid) },
};

const waitingOnPipe = (folder: string): Waiting => ({
  pids: () => doctorExchange.pidsWithPipe(folder),
  ask: (pid, timeoutMs) => askOnPipe(folder, pid, timeoutMs),
});

const isNotServing = (outcome: DoctorOutcome, pid: number | undefined): boolean =>
  !outcome.ok && outcome.problem === notServing(pid as number);

/** The processes that listen; if none does, all others, so that each is reported. */
function everyProcess(): readonly number[] {
  const found = servingProcesses();
  const listening = found.filter(({ listens }) => listens);
  return (listening.length > 0 ? listening : found).map(({ pid }) => pid);
}

function readPid(text: string): number {
  const pid = Number(text);
  if (/^\d+$/.test(text) && pid > 0 && Number.isSafeInteger(pid)) return pid;
  throw new UsageError(`doctor takes the ids of processes, ${JSON.stringify(text)} is not one`);
}

/** Prints the problems and gives the exit code. */
async function complain(problems: readonly string[]): Promise<number> {
  for (const problem of problems) await print(process.stderr, `mcp-actors doctor: ${problem}\n`);
  return problems.length === 0 ? 0 : 1;
}
