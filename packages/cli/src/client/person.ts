/** Interaction with the user: answers elicitation requests and shows events. */
import { createInterface } from 'node:readline/promises';
import type { Interface } from 'node:readline/promises';
import type { ConnectionEvent, ElicitProvider, Servers, ServersOptions } from 'mcp-actors/client';
import { isJsonObject, printableLines, redactText } from 'mcp-actors/internal';
import { print, withoutHidden } from '../command.ts';
import { answersIn } from './form-answers.ts';
import { terminalElicitation } from './terminal-forms.ts';
import type { Terminal } from './terminal-forms.ts';

/** Source of answers to elicitation requests. */
export interface ElicitationSource {
  readonly options: Pick<ServersOptions, 'elicit' | 'forServer'>;
  close(): void;
}

/**
 * Takes answers from a file, otherwise from the terminal. With neither, elicitation is not offered
 * to servers.
 *
 * @param command prefix of messages
 */
export function openElicitation(file: string | undefined, command: string): ElicitationSource {
  const say = (line: string) => void print(process.stderr, `${printableLines([line])}\n`);
  if (file !== undefined) {
    const elicit = answersIn(file, (line) => say(`${command}: ${line}`));
    return { options: { elicit }, close: () => {} };
  }
  if (!process.stdin.isTTY || !process.stderr.isTTY) return { options: {}, close: () => {} };
  // Open stdin only for the first question, because it may be meant for something else.
  let lines: Interface | undefined;
  const terminal: Terminal = {
    say,
    ask: (question, signal) => {
      lines ??= openTerminal();
      return lines.question(question, { signal });
    },
  };
  return {
    options: elicitationOptions(terminalElicitation(terminal)),
    close: () => lines?.close(),
  };
}

/** Readline turns off the terminal's SIGINT, so Ctrl-C arrives as a key and is forwarded here. */
function openTerminal(): Interface {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  lines.on('SIGINT', () => process.emit('SIGINT', 'SIGINT'));
  return lines;
}

/** Creates options that name the server in each of its questions. */
export function elicitationOptions(
  elicitFor: (server: string) => ElicitProvider,
): Pick<ServersOptions, 'forServer'> {
  return { forServer: (server) => ({ elicit: elicitFor(server) }) };
}

/** Prints events to stderr. Returns a function that stops this. */
export function printEvents(servers: Servers, command: string): () => void {
  const subscription = servers.events$.subscribe((happened) => {
    // Logins are always shown elsewhere.
    if (happened.type !== 'connection' || happened.event.type === 'authorize') return;
    const lines = linesOf(happened.event).map(
      (line) => `${command}: ${happened.server}: ${redactText(withoutHidden(line), 2000)}`,
    );
    if (lines.length > 0) void print(process.stderr, `${printableLines(lines)}\n`);
  });
  return () => subscription.unsubscribe();
}

/** Formats an event for people; empty if not of interest. */
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
