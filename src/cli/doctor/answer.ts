/** A serving process's side: answers those who ask what it waits for. */
import { readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { causesOf } from '../../diagnosis/causes.ts';
import { describeDump, explainDump } from '../../diagnosis/dump-text.ts';
import type { SessionDump } from '../../diagnosis/session-dump.ts';
import type { LogSink } from '../log/log-sink.ts';
import { redactText, redacted } from '../../diagnosis/redaction.ts';
import { isSecretKey } from '../../diagnosis/secrets.ts';
import { packageVersion } from '../version.ts';
import { exchangeDirectory, exchangeFault, isAskedOn } from './exchange.ts';
import type { Answer } from './exchange.ts';

/** How long a doctor may take to read the answer. */
const readTimeoutMs = 5000;

/** Sends the dumps to every doctor that asks this process; where none does, writes them to stderr. */
export async function answerSignal(
  dumps: readonly SessionDump[],
  stderr: Pick<LogSink, 'write'>,
  directory: string = exchangeDirectory(),
): Promise<void> {
  const answer = answerOf(dumps.map(withoutSecrets));
  const heard = await Promise.all(questions(directory).map((path) => send(path, answer)));
  if (!heard.includes(true)) stderr.write(answer.text);
}

function answerOf(dumps: readonly SessionDump[]): Answer {
  const { pid } = process;
  const version = packageVersion();
  const head = `mcp-actors ${version}, process ${pid}\n`;
  return {
    pid,
    version,
    sessions: dumps.map((dump) => ({ ...dump, why: explainDump(dump), causes: causesOf(dump) })),
    text:
      dumps.length === 0
        ? `${head}No session is open\n`
        : head + dumps.map(describeDump).join('\n'),
  };
}

/** Strings come from the client and may go to a host's log. */
function withoutSecrets(dump: SessionDump): SessionDump {
  return JSON.parse(JSON.stringify(dump), (key, value: unknown) => {
    if (typeof value !== 'string') return value;
    return isSecretKey(key) ? redacted : redactText(value);
  }) as SessionDump;
}

function questions(directory: string): readonly string[] {
  if (exchangeFault(directory) !== undefined) return [];
  return readdirSync(directory)
    .filter((name) => isAskedOn(name, process.pid))
    .map((name) => join(directory, name));
}

/** Resolves to whether somebody has taken the answer. What a doctor has left behind is removed. */
function send(path: string, answer: Answer): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.setTimeout(readTimeoutMs, () => socket.destroy());
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED') rmSync(path, { force: true });
      resolve(false);
    });
    socket.on('close', (failed) => resolve(!failed));
    socket.end(JSON.stringify(answer));
    socket.resume();
  });
}
