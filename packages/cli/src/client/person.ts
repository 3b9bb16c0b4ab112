/** The person behind a command: how servers' questions are answered, and what is shown. */
import { createInterface } from 'node:readline/promises';
import type { Interface } from 'node:readline/promises';
import type { ConnectionEvent, ElicitProvider, Servers, ServersOptions } from 'mcp-actors/client';
import { isJsonObject, printableLines, redactText } from 'mcp-actors/internal';
import { print, withoutHidden } from '../command.ts';
import { answersIn } from './form-answers.ts';
import { personAt } from './terminal-forms.ts';
import type { Terminal } from './terminal-forms.ts';

/** Who answers servers. */
export interface Person {
  readonly options: Pick<ServersOptions, 'elicit' | 'forServer'>;
  close(): void;
}

/**
 * Where answers come from: a file, otherwise the terminal. If there is neither, servers are told
 * that they cannot ask.
 *
 * @param command for messages
 */
export function askingPerson(file: string | undefined, command: string): Person {
  const say = (line: string) => void print(process.stderr, `${printableLines([line])}\n`);
  if (file !== undefined) {
    const elicit = answersIn(file, (line) => say(`${command}: ${line}`));
    return { options: { elicit }, close: () => {} };
  }
  if (!process.stdin.isTTY || !process.stderr.isTTY) return { options: {}, close: () => {} };
  // The input is not read before a question: it may be meant for something else.
  let lines: Interface | undefined;
  const terminal: Terminal = {
    say,
    ask: (question, signal) => {
      lines ??= openTerminal();
      return lines.question(question, { signal });
    },
  };
  return { options: whoAsks(personAt(terminal)), close: () => lines?.close() };
}

/** While a line is edited, the terminal makes no signal of Ctrl-C: it is a key, and still means the same. */
function openTerminal(): Interface {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  lines.on('SIGINT', () => process.emit('SIGINT', 'SIGINT'));
  return lines;
}

/** Options by which each server's questions carry its name. */
export function whoAsks(
  elicitFor: (server: string) => ElicitProvider,
): Pick<ServersOptions, 'forServer'> {
  return { forServer: (server) => ({ elicit: elicitFor(server) }) };
}

/** Shows events on stderr. Returns a function that stops it. */
export function follow(servers: Servers, command: string): () => void {
  const subscription = servers.events$.subscribe((happened) => {
    // A login is shown in any case.
    if (happened.type !== 'connection' || happened.event.type === 'authorize') return;
    const lines = linesOf(happened.event).map(
      (line) => `${command}: ${happened.server}: ${redactText(withoutHidden(line), 2000)}`,
    );
    if (lines.length > 0) void print(process.stderr, `${printableLines(lines)}\n`);
  });
  return () => subscription.unsubscribe();
}

/** What a person may want to read of an event. */
export function linesOf(event: ConnectionEvent): readonly string[] {
  switch (event.type) {
    case 'state':
      return [`is ${event.state.value}`];
    case 'stderr':
      return event.text.trimEnd().split('\n');
    case 'problem':
      return [`problem: ${event.message}`];
    case 'authorize':
      return [`open ${event.url}`];
    case 'notification': {
      const { method, params } = event;
      const { level, data } = isJsonObject(params) ? params : {};
      if (method !== 'notifications/message') return [method];
      return [`${String(level)}: ${typeof data === 'string' ? data : JSON.stringify(data)}`];
    }
    default:
      return [];
  }
}
