/** The doctor's side: asks one process what it waits for. */
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { doctorExchange } from 'mcp-actors/internal';
import { servingProcess } from './process-table.ts';

const { openQuestion, pipeOf, pipeQuestion, readAnswer } = doctorExchange;

/** Far more than a session's limits allow. */
const maxAnswerLength = 64 * 1024 ** 2;

type Question = Exclude<ReturnType<typeof openQuestion>, string>;

export type DoctorOutcome =
  | { readonly ok: true; readonly answer: NonNullable<ReturnType<typeof readAnswer>> }
  /** Why there is no answer, and what that means. */
  | { readonly ok: false; readonly problem: string };

/** Asks one of this user's processes, by a signal. */
export async function ask(
  pid: number,
  timeoutMs: number,
  directory?: string,
): Promise<DoctorOutcome> {
  const server = createServer();
  const question = await listen(server, pid, directory);
  if (typeof question === 'string') return { ok: false, problem: question };
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
    question.close();
  }
}

/**
 * Asks one of this user's processes on its pipe.
 *
 * @param folder of the pipes
 */
export async function askOnPipe(
  folder: string,
  pid: number,
  timeoutMs: number,
): Promise<DoctorOutcome> {
  const socket = connect(pipeOf(folder, pid));
  try {
    return await new Promise<DoctorOutcome>((resolve) => {
      const late = `Process ${pid} is busy: no answer within ${timeoutMs} ms`;
      const timer = setTimeout(() => resolve({ ok: false, problem: late }), timeoutMs);
      socket.once('error', () => resolve({ ok: false, problem: notServing(pid) }));
      socket.once('connect', () => {
        socket.write(pipeQuestion);
        readOutcome(socket, pid, resolve);
      });
      socket.once('close', () => clearTimeout(timer));
    });
  } finally {
    socket.destroy();
  }
}

/** The message for a process that is not `mcp-actors serve`. */
export function notServing(pid: number): string {
  return `Process ${pid} is not an mcp-actors of yours that serves. Without a PID, doctor finds those that are`;
}

function notListening(pid: number): string {
  return `Process ${pid} does not listen for SIGUSR2, which would end it: it is just starting (try again), or of an older version`;
}

/** Resolves once the server listens; to a text if that is prevented. */
async function listen(
  server: Server,
  pid: number,
  directory: string | undefined,
): Promise<Question | string> {
  for (let attempt = 1; ; attempt++) {
    const question = openQuestion(pid, directory);
    if (typeof question === 'string') return question;
    try {
      return await new Promise<Question>((resolve, reject) => {
        server.once('error', reject).listen(question.path, () => resolve(question));
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
      readOutcome(socket, pid, finish);
    });
  });
}

/** Reads the answer that comes on a socket until that ends. */
function readOutcome(socket: Socket, pid: number, finish: (outcome: DoctorOutcome) => void): void {
  let text = '';
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => {
    text += chunk;
    if (text.length > maxAnswerLength) finish(unreadable(pid));
  });
  const end = () => {
    const answer = readAnswer(pid, text);
    finish(answer ? { ok: true, answer } : unreadable(pid));
  };
  socket.on('end', end);
  // A cut-off answer is not JSON, and so is reported as unreadable.
  socket.on('error', end);
}

function unreadable(pid: number): DoctorOutcome {
  const problem = `The answer of process ${pid} cannot be read: it is of another version, perhaps`;
  return { ok: false, problem };
}

function silence(pid: number, timeoutMs: number): string {
  const found = servingProcess(pid);
  if (!found) return `Process ${pid} has ended instead of answering`;
  const late = `no answer within ${timeoutMs} ms`;
  switch (found.activity) {
    case 'T':
      return `Process ${pid} is stopped: ${late}. Resume it with kill -CONT ${pid}`;
    case 'R':
      return `Process ${pid} is busy, probably in a handler that computes without yielding: ${late}. It will print its answer to stderr once it is free`;
    default:
      return `Process ${pid} is busy: ${late}. It will print its answer to stderr once it is free`;
  }
}
