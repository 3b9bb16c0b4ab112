/** Server side of `doctor`: answers with what the process waits for. */
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

/** State of a serving process. */
export interface ServingState {
  readonly dumps: readonly SessionDump[];
  /** HTTP endpoint and its session limit, if any. */
  readonly endpoint?: ServedEndpoint | undefined;
  /** Connections of a process that is a client. */
  readonly connections?: readonly HostedDump[] | undefined;
}

/** Maximum number of sessions reported in full, to limit the cost. */
const maxWhole = 200;

/** Timeout for reading the answer. */
const readTimeoutMs = 5000;

/** Time between creating a socket and listening on it. */
const listenTimeoutMs = 60_000;

/** Sends the dumps to every waiting `doctor`, or writes them to stderr if there is none. */
export async function answerSignal(
  state: ServingState,
  stderr: Pick<LineSink, 'write'>,
  directory: string = exchangeDirectory(),
): Promise<void> {
  const answer = doctorAnswer(state);
  const taken = await Promise.all(questions(directory).map((path) => send(path, answer)));
  if (!taken.includes(true)) stderr.write(printableText(answer.text));
}

/** Builds the answer of a process. */
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

/** Redacts strings, which may come from the client and end up in a host's log. */
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

/**
 * True for a stale socket. A `doctor` creates its socket before listening, so a young one may
 * refuse connections.
 */
function isLeft(path: string): boolean {
  const made = statSync(path, { throwIfNoEntry: false });
  return made !== undefined && Date.now() - made.mtimeMs > listenTimeoutMs;
}

/** Resolves with true if a `doctor` took the answer. Removes the socket of a killed one. */
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
