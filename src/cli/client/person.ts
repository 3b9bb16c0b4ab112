/** The person behind a command: who answers for a server, and what is shown of it. */
import { createInterface } from 'node:readline/promises';
import type { Interface } from 'node:readline/promises';
import type { ElicitProvider } from '../../client/asked/providers.ts';
import type { ConnectionEvent } from '../../client/connection/connection-state.ts';
import type { Servers, ServersOptions } from '../../client/hosts/servers.ts';
import { defaultVisitMs } from '../../client/auth/options.ts';
import { redactText } from '../../diagnosis/redaction.ts';
import { isJsonObject } from '../../protocol/classify.ts';
import { printableLines } from '../../protocol/printable.ts';
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
 * Whoever answers: a file; else the terminal, if there is one; else nobody, and then servers are
 * told so.
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
  // The input is left alone until somebody asks: it may be for somebody else.
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

/** Shows the URL of each login, and until when somebody waits for what comes of it. */
export function tellLogins(
  servers: Servers,
  say: (line: string) => void,
  now: () => Date = () => new Date(),
): () => void {
  const subscription = servers.events$.subscribe((happened) => {
    if (happened.type !== 'connection' || happened.event.type !== 'authorize') return;
    const { server, event } = happened;
    const back = new URL(event.url).searchParams.get('redirect_uri') ?? 'this machine';
    const until = new Date(now().getTime() + defaultVisitMs).toTimeString().slice(0, 8);
    say(`${server} wants a login. Open this in a browser, if it has not opened by itself:`);
    say(event.url);
    say(
      `Waiting for the browser to come back to ${back} until ${until} (${defaultVisitMs / 60_000} min)`,
    );
  });
  return () => subscription.unsubscribe();
}

/** Shows on stderr what happens, until what it gives is called. */
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
