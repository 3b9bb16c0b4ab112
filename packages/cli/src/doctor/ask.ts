/** Client side of `doctor`: queries one process for what it waits for. */
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { doctorExchange } from 'mcp-actors/internal';
import { servingProcess } from './process-table.ts';

const { openQuestion, pipeOf, pipeQuestion, readAnswer } = doctorExchange;

/** Well above what a session's limits allow. */
const maxAnswerLength = 64 * 1024 ** 2;

type Question = Exclude<ReturnType<typeof openQuestion>, string>;

export type DoctorOutcome =
  | { readonly ok: true; readonly answer: NonNullable<ReturnType<typeof readAnswer>> }
  /** Reason for the missing answer. */
  | { readonly ok: false; readonly problem: string };

/** Queries one of this user's processes with a signal. */
export async function queryBySignal(
  pid: number,
  timeoutMs: number,
  directory?: string,
): Promise<DoctorOutcome> {
  const server = createServer();
  const question = await listen(server, pid, directory);
  if (typeof question === 'string') return { ok: false, problem: question };
  try {
    const answered = nextAnswer(server, pid, timeoutMs);
    // Check just before the signal, because the pid may have been reused.
    const found = servingProcess(pid);
    if (!found) return { ok: false, problem: notServing(pid) };
    if (!found.listens) return { ok: false, problem: notListening(pid) };
    process.kill(pid, 'SIGUSR2');
    return (await answered) ?? { ok: false, problem: explainSilence(pid, timeoutMs) };
  } finally {
    server.close();
    question.close();
  }
}

/**
 * Queries one of this user's processes through its pipe.
 *
 * @param folder directory of the pipes
 */
export async function queryOnPipe(
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

/** Message for a process that is not a serving mcp-actors. */
export function notServing(pid: number): string {
  return `Process ${pid} is not a serving mcp-actors process of yours. Without a PID, doctor finds all of them`;
}

function notListening(pid: number): string {
  return `Process ${pid} does not handle SIGUSR2, which would kill it: it is still starting (try again) or runs an older version`;
}

/** Resolves when the server listens, or with the reason why it cannot. */
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
      // Another doctor has just removed the empty directory.
      if (attempt === 3 || !/ENOENT|EACCES/.test(String(error))) throw error;
    }
  }
}

/** Resolves with the process's answer; undefined after the timeout. */
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

/** Reads the answer from a socket until its end. */
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
  // A truncated answer is not JSON, so it is reported as unreadable.
  socket.on('error', end);
}

function unreadable(pid: number): DoctorOutcome {
  const problem = `The answer of process ${pid} cannot be read: it may run another version`;
  return { ok: false, problem };
}

function explainSilence(pid: number, timeoutMs: number): string {
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
