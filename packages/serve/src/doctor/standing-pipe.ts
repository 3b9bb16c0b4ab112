/** The pipe of a serving process. A doctor asks on it if the system has no signal for that. */
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { pipeOf, pipeQuestion } from './exchange.ts';
import type { ServingState } from './answer.ts';

/** How many doctors are heard at a time. */
const maxDoctors = 8;

/** How long a doctor may take to ask, and to read the answer. */
const doctorTimeoutMs = 5000;

/**
 * Answers each doctor that asks on the pipe of this process. That alone keeps no process alive.
 *
 * @returns what listens
 * @throws the pipe cannot be made
 */
export async function answerOnPipe(folder: string, state: () => ServingState): Promise<Server> {
  const server = createServer((socket) => {
    hear(socket, async () => {
      const { doctorAnswer } = await import('./answer.ts');
      return JSON.stringify(doctorAnswer(state()));
    });
  });
  server.maxConnections = maxDoctors;
  server.unref();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(pipeOf(folder, process.pid), resolve);
  });
  return server;
}

/** Answers the question, and hangs up on everything else. */
function hear(socket: Socket, answer: () => Promise<string>): void {
  let asked = '';
  socket.unref();
  socket.setEncoding('utf8').setTimeout(doctorTimeoutMs, () => socket.destroy());
  socket.on('error', () => {});
  socket.on('data', (text: string) => {
    asked += text;
    if (asked === pipeQuestion) {
      answer().then(
        (told) => socket.end(told),
        (error: unknown) => socket.destroy(error as Error),
      );
    } else if (!pipeQuestion.startsWith(asked)) {
      socket.destroy();
    }
  });
}
