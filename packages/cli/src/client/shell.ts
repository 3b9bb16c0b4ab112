/**
 * `mcp-actors shell`: an interactive shell for servers. Without a terminal it reads commands from
 * stdin.
 */
import { createInterface } from 'node:readline/promises';
import type { Interface } from 'node:readline/promises';
import { openConfig } from 'mcp-actors/client';
import type { Servers, ServersOptions } from 'mcp-actors/client';
import { keepNumberTexts, printableLines, redactText } from 'mcp-actors/internal';
import { UsageError, print } from '../command.ts';
import { optionsText } from '../options/option.ts';
import type { OptionTable } from '../options/option.ts';
import { commandOf, helpOption } from '../options/parse-options.ts';
import { answerDoctor } from './answer-doctor.ts';
import {
  clientOptions,
  connectingOptions,
  hideSecretsOf,
  selectServer,
  printMessages,
  printConfigProblems,
} from './client-options.ts';
import { ExitCode, exitCodeOf, describeFailure } from './exit-codes.ts';
import { answersIn } from './form-answers.ts';
import { printEvents, elicitationOptions } from './person.ts';
import { ServerLogs } from './server-logs.ts';
import { ShellCommands } from './shell-commands.ts';
import { configOf, readTarget } from './target.ts';
import { openObservers } from './watching.ts';
import type { Target } from './target.ts';
import { terminalElicitation } from './terminal-forms.ts';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/** Options of the command, also used to generate the documentation. */
export const shellOptions = {
  ...clientOptions,
  help: helpOption,
} as const satisfies OptionTable;

const help = `Usage: mcp-actors shell FILE | URL [options]
       mcp-actors shell [options] -- COMMAND [ARGUMENTS...]

Connects to MCP servers and runs commands: list, describe, call, read, resources,
watch, unwatch, logs, state, reconnect, help, quit. Without a terminal it reads commands from
stdin, one per line, and exits with 1 if any of them failed.

  mcp-actors shell mcp.json
  echo 'call echo text=hi' | mcp-actors shell -- node server.js

Ctrl-C cancels the running command; Ctrl-D ends the shell.

Options:
${optionsText(shellOptions)}
`;

const name = 'mcp-actors shell';

export const command = commandOf(
  name,
  { options: shellOptions, help, launches: true },
  async (called) => {
    const { values } = called;
    keepNumberTexts();
    const target = readTarget(name, called);
    if (target.rest.length > 0) {
      throw new UsageError(`${name} takes one target, got also ${target.rest.join(' ')}`);
    }
    const isOne = !('file' in target.source) || values.server !== undefined;
    await using watched = await openObservers(values, isOne ? 'one' : 'each');
    const person = shellPerson(values.answer);
    let servers: Servers;
    try {
      const options = { ...person.options, ...connectingOptions(values, person.say) };
      servers = await open(target, values.server, watched.options(options));
    } catch (error) {
      if (error instanceof UsageError) throw error;
      await printMessages(name, describeFailure(error));
      person.close();
      return exitCodeOf(error);
    }
    answerDoctor(servers);
    const followed = values.verbose ? printEvents(servers, name) : undefined;
    try {
      return await talk(servers, person);
    } finally {
      await servers.close();
      followed?.();
      person.close();
    }
  },
);

async function open(
  target: Target,
  server: string | undefined,
  options: ServersOptions,
): Promise<Servers> {
  const config = await configOf(target);
  hideSecretsOf(config);
  const wanted = server === undefined ? config : selectServer(config, server);
  await printConfigProblems(name, wanted);
  return openConfig(wanted, { ...options, watch: server === undefined });
}

/** The user, with the only interface to the terminal. */
interface ShellPerson {
  readonly options: ServersOptions;
  readonly lines: Interface;
  /** All input lines from the first one. */
  readonly typed: AsyncIterable<string>;
  readonly isTerminal: boolean;
  /** Prints an unsolicited message above the line being edited. */
  say(line: string): void;
  /** Shows the prompt in a terminal until the input ends. */
  prompt(keepsCursor?: boolean): void;
  /** Sets the completer, which is known only after the servers are opened. */
  complete(completer: (line: string) => [string[], string]): void;
  close(): void;
}

function shellPerson(answerFile: string | undefined): ShellPerson {
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
  let completer = (line: string): [string[], string] => [[], line];
  /** Form questions waiting for input. */
  const asked = new Set<string>();
  const file = historyFile();
  const lines = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: isTerminal,
    prompt: isTerminal ? 'mcp> ' : '',
    completer: (line: string) => completer(line),
    ...(isTerminal ? { history: readHistory(file), removeHistoryDuplicates: true } : {}),
  });
  // Buffer lines from now on, because piped input arrives before it is needed.
  const typed = lines[Symbol.asyncIterator]();
  // Input to a form is not a command and may be private, so it stays out of the history.
  lines.on('history', (history: string[]) => {
    if (asked.size > 0 || !isHistorySafe(history[0] ?? '')) history.shift();
    else writeHistory(file, history);
  });
  let isClosed = false;
  lines.once('close', () => (isClosed = true));
  // Node 24 throws for a prompt after the end of the input, which comes while a command still runs.
  const prompt = (keepsCursor = false): void => {
    if (isTerminal && !isClosed) lines.prompt(keepsCursor);
  };
  const say = (line: string): void => {
    if (isTerminal) process.stderr.write('\r\u001B[K');
    void print(process.stderr, `${printableLines(line.split('\n'))}\n`);
    prompt(true);
  };
  const terminal = {
    say,
    ask: async (question: string, signal: AbortSignal) => {
      asked.add(question);
      return lines.question(question, { signal }).finally(() => {
        asked.delete(question);
        // The question was withdrawn, so the next line is a command.
        if (signal.aborted) prompt(true);
      });
    },
  };
  const options: ServersOptions =
    answerFile !== undefined
      ? { elicit: answersIn(answerFile, say) }
      : isTerminal
        ? elicitationOptions(terminalElicitation(terminal))
        : {};
  return {
    options,
    lines,
    typed: { [Symbol.asyncIterator]: () => typed },
    isTerminal,
    say,
    prompt,
    complete: (wanted) => {
      completer = wanted;
    },
    close: () => lines.close(),
  };
}

/** Runs commands until the input ends. */
async function talk(
  servers: Servers,
  { lines, typed, isTerminal, say, prompt, complete }: ShellPerson,
): Promise<number> {
  const logs = new ServerLogs(servers);
  const commands = new ShellCommands({
    servers,
    logs,
    print: (text) => void print(process.stdout, text),
    say,
  });
  complete((line) => commands.complete(line));
  const end = new AbortController();
  // Otherwise a command that waits for a server would seem to hang.
  void servers.started().then(({ ready, late, failed }) => {
    const isWorthIt = isTerminal || late.length > 0 || failed.length > 0;
    if (end.signal.aborted || !isWorthIt) return;
    say(
      `${ready.length} ready${late.length > 0 ? `, ${late.length} still starting` : ''}${failed.length > 0 ? `, ${failed.length} failed (see state)` : ''}. help lists the commands`,
    );
  });
  let failures = 0;
  let running = new AbortController();
  lines.on('SIGINT', () => {
    running.abort();
    say('(Ctrl-D ends the shell)');
  });
  prompt();
  for await (const line of typed) {
    if (/^\s*(?:quit|exit)\s*$/.test(line)) break;
    running = new AbortController();
    try {
      await commands.run(line, running.signal);
    } catch (error) {
      failures++;
      say(error instanceof UsageError ? error.message : describeFailure(error));
    }
    prompt();
  }
  end.abort();
  commands.close();
  logs.close();
  return failures > 0 && !isTerminal ? ExitCode.toolFailed : ExitCode.done;
}

/** Maximum number of history lines. */
const maxHistoryLines = 500;

/** Path of the history file, following XDG. */
export function historyFile(
  environment: { readonly [name: string]: string | undefined } = process.env,
): string {
  const folder = environment['XDG_STATE_HOME'] || join(homedir(), '.local', 'state');
  return join(folder, 'mcp-actors', 'shell-history');
}

/** True if a line may go into the history: it contains no secret that redaction recognizes. */
export function isHistorySafe(line: string): boolean {
  return line.trim() !== '' && redactText(line, Infinity) === line;
}

/** Reads the history, newest line first as readline expects; empty if unreadable. */
export function readHistory(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(isHistorySafe).slice(0, maxHistoryLines);
  } catch {
    return [];
  }
}

/**
 * Writes the history, readable only by its owner.
 *
 * @returns false if the file could not be written
 */
export function writeHistory(file: string, lines: readonly string[]): boolean {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const kept = lines.filter(isHistorySafe).slice(0, maxHistoryLines);
    writeFileSync(file, `${kept.join('\n')}\n`, { mode: 0o600 });
    return true;
  } catch {
    return false;
  }
}
