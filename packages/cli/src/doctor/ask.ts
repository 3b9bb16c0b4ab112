/** The doctor's side: asks one process what it waits for. */
import { randomBytes } from 'node:crypto';
import { rmSync, rmdirSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { exchangeDirectory, openExchange, removeStaleMarks, socketPath } from 'mcp-actors/internal';
import type { DoctorAnswer } from 'mcp-actors/internal';
import { servingProcess } from './process-table.ts';
import type { ServingProcess } from './process-table.ts';

/** Far more than a session's limits allow. */
const maxAnswerLength = 64 * 1024 ** 2;

export type DoctorOutcome =
  | { readonly ok: true; readonly answer: DoctorAnswer }
  /** Why there is no answer, and what that means. */
  | { readonly ok: false; readonly problem: string };

/** Asks one of this user's processes. */
export async function ask(
  pid: number,
  timeoutMs: number,
  directory: string = exchangeDirectory(),
): Promise<DoctorOutcome> {
  const path = socketPath(directory, pid, randomBytes(8).toString('hex'));
  const server = createServer();
  const obstacle = await listen(server, directory, path);
  if (obstacle !== undefined) return { ok: false, problem: obstacle };
  try {
    const answered = nextAnswer(server, pid, timeoutMs);
    // Checked right before the signal: the pid may now belong to another process.
    const found = servingProcess(pid);
    if (!found) return { ok: false, problem: notServing(pid) };
    if (!found.listens) return { ok: false, problem: notListening(pid) };
    process.kill(pid, 'SIGUSR2');
    return (await answered) ?? { ok: false, problem: silence(pid, timeoutMs) };
  } finally {
    server.close();
    rmSync(path, { force: true });
    leave(directory);
  }
}

/** The message for a process that is not `mcp-actors serve`. */
export function notServing(pid: number): string {
  return `Process ${pid} is not an mcp-actors of yours that serves. Without a PID, doctor finds those that are`;
}

function notListening(pid: number): string {
  return `Process ${pid} does not listen for SIGUSR2, which would end it: it is just starting (try again), or of an older version`;
}

/** Resolves to what prevents listening; undefined once the server listens. */
async function listen(
  server: Server,
  directory: string,
  path: string,
): Promise<string | undefined> {
  for (let attempt = 1; ; attempt++) {
    const obstacle = openExchange(directory);
    if (obstacle !== undefined) return obstacle;
    try {
      return await new Promise<undefined>((resolve, reject) => {
        server.once('error', reject).listen(path, () => resolve(undefined));
      });
    } catch (error) {
      // Another doctor has just finished and removed the empty directory.
      if (attempt === 3 || !/ENOENT|EACCES/.test(String(error))) throw error;
    }
  }
}

/** Resolves to the process's answer; undefined if none comes in time. */
function nextAnswer(
  server: Server,
  pid: number,
  timeoutMs: number,
): Promise<DoctorOutcome | undefined> {
  return new Promise((resolve) => {
    const sockets = new Set<Socket>();
    const finish = (outcome: DoctorOutcome | undefined) => {
      clearTimeout(timer);
      for (const socket of sockets) socket.destroy();
      resolve(outcome);
    };
    const timer = setTimeout(finish, timeoutMs, undefined);
    server.on('close', () => finish(undefined));
    server.on('connection', (socket) => {
      sockets.add(socket);
      let text = '';
      socket.setEncoding('utf8');
      socket.on('data', (chunk: string) => {
        text += chunk;
        if (text.length > maxAnswerLength) finish({ ok: false, problem: unreadable(pid) });
      });
      socket.on('end', () => finish(read(text, pid)));
      // A cut-off answer is not JSON, and so is reported as unreadable.
      socket.on('error', () => finish(read(text, pid)));
    });
  });
}

function read(text: string, pid: number): DoctorOutcome {
  try {
    const answer = JSON.parse(text) as DoctorAnswer;
    if (answer.pid === pid && Array.isArray(answer.sessions)) return { ok: true, answer };
  } catch {
    // Handled below, like JSON of another shape.
  }
  return { ok: false, problem: unreadable(pid) };
}

function unreadable(pid: number): string {
  return `The answer of process ${pid} cannot be read: it is of another version, perhaps`;
}

function silence(pid: number, timeoutMs: number): string {
  const found: ServingProcess | undefined = servingProcess(pid);
  if (!found) return `Process ${pid} has ended instead of answering`;
  const head = `Process ${pid} has not answered within ${timeoutMs} ms: `;
  switch (found.activity) {
    case 'T':
      return `${head}it is stopped; kill -CONT ${pid} lets it go on`;
    case 'R':
      return `${head}its event loop is busy, most likely with a handler that computes without a pause. It answers on its stderr once it is free`;
    default:
      return `${head}its event loop is blocked. It answers on its stderr once it is free`;
  }
}

/** Removes the directory, unless another doctor is at work in it, or a server has announced itself. */
function leave(directory: string): void {
  try {
    removeStaleMarks(directory);
    rmdirSync(directory);
  } catch {
    // Not empty, or gone already.
  }
}
