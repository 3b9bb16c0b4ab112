/** A serving process's side of the doctor: answers what the process waits for. */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { causesOf } from '../../../diagnostics/src/causes.ts';
import { describeConnections } from '../../../diagnostics/src/connections-text.ts';
import type { HostedDump } from '../../../diagnostics/src/connections-text.ts';
import { describeDump, explainDump } from '../../../diagnostics/src/dump-text.ts';
import type { SessionDump } from '../../../diagnostics/src/session-dump.ts';
import {
  describeEndpoint,
  describeSessions,
  dumpEndpoint,
  mostUrgentFirst,
} from '../../../diagnostics/src/sessions-text.ts';
import type { ServedEndpoint } from '../../../diagnostics/src/sessions-text.ts';
import type { LineSink } from '../../../diagnostics/src/log/log.ts';
import { redactText, redacted } from '../../../diagnostics/src/redaction.ts';
import { isSecretKey } from '../../../diagnostics/src/secrets.ts';
import { printableText } from '../../../../src/protocol/printable.ts';
import { packageVersion } from '../package-version.ts';
import { exchangeDirectory, exchangeFault, isAskedOn } from './exchange.ts';
import type { DoctorAnswer } from './exchange.ts';

/** What a serving process is asked about. */
export interface ServingState {
  readonly dumps: readonly SessionDump[];
  /** Where it serves, and how many sessions may be open, if that is over HTTP. */
  readonly endpoint?: ServedEndpoint | undefined;
  /** Of a process that connects to servers instead of serving. */
  readonly connections?: readonly HostedDump[] | undefined;
}

/** So many sessions are told whole: more would take the process's time, and nobody reads them. */
const maxWhole = 200;

/** How long a doctor may take to read the answer. */
const readTimeoutMs = 5000;

/** How long a doctor may take from making its socket to listening on it. */
const listenTimeoutMs = 60_000;

/**
 * Sends the dumps to every doctor that asks this process, or writes them to stderr if none does.
 */
export async function answerSignal(
  state: ServingState,
  stderr: Pick<LineSink, 'write'>,
  directory: string = exchangeDirectory(),
): Promise<void> {
  const answer = doctorAnswer(state);
  const taken = await Promise.all(questions(directory).map((path) => send(path, answer)));
  if (!taken.includes(true)) stderr.write(printableText(answer.text));
}

/** What a process answers. */
export function doctorAnswer({
  dumps: all,
  endpoint: at,
  connections,
}: ServingState): DoctorAnswer {
  const { pid } = process;
  const version = packageVersion();
  if (connections) {
    const text = `mcp-actors ${version}, process ${pid}\n${describeConnections(connections)}`;
    return { pid, version, sessions: [], connections: withoutSecrets(connections), text };
  }
  const urgent = mostUrgentFirst(all);
  const dumps = urgent.slice(0, maxWhole).map(withoutSecrets);
  const omitted = urgent.length - dumps.length;
  const endpoint = at && dumpEndpoint(at, all);
  const head = `mcp-actors ${version}, process ${pid}\n${endpoint ? describeEndpoint(endpoint) : ''}`;
  const rest = omitted > 0 ? `\n${omitted} more sessions are left out\n` : '';
  const whole = `${head}${dumps.map(describeDump).join('\n')}${rest}`;
  const isOne = dumps.length === 1;
  return {
    pid,
    version,
    ...(endpoint ? { endpoint } : {}),
    sessions: dumps.map((dump) => ({ ...dump, why: explainDump(dump), causes: causesOf(dump) })),
    ...(omitted > 0 ? { omitted } : {}),
    text: isOne ? whole : head + listOf(urgent),
    ...(isOne ? {} : { whole }),
  };
}

function listOf(dumps: readonly SessionDump[]): string {
  return redactText(describeSessions(dumps) || 'No session is open\n', Infinity);
}

/** Strings may come from the client, and may end up in a host's log. */
function withoutSecrets<T>(dump: T): T {
  return JSON.parse(JSON.stringify(dump), (key, value: unknown) => {
    if (typeof value !== 'string') return value;
    return isSecretKey(key) ? redacted : redactText(value);
  }) as T;
}

function questions(directory: string): readonly string[] {
  if (exchangeFault(directory) !== undefined) return [];
  return readdirSync(directory)
    .filter((name) => isAskedOn(name, process.pid))
    .map((name) => join(directory, name));
}

/** A doctor makes its socket first and listens on it then: one that refuses may be a moment old. */
function isLeft(path: string): boolean {
  const made = statSync(path, { throwIfNoEntry: false });
  return made !== undefined && Date.now() - made.mtimeMs > listenTimeoutMs;
}

/** Resolves to whether a doctor took the answer. The socket of a doctor that was killed is removed. */
function send(path: string, answer: DoctorAnswer): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.setTimeout(readTimeoutMs, () => socket.destroy());
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED' && isLeft(path)) rmSync(path, { force: true });
      resolve(false);
    });
    socket.on('close', (failed) => resolve(!failed));
    socket.end(JSON.stringify(answer));
    socket.resume();
  });
}
