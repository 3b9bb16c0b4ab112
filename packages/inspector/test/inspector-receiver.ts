/** The official inspector's own server and receiver in a child process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createWebSocketReceiver } from '@statelyai/inspect';
import type { StatelyInspectionEvent } from '@statelyai/inspect';
import { onTestFinished } from 'vitest';
import { LineStream } from '../../../test/e2e/line-stream.ts';
import { repository } from '../../../test/e2e/server-process.ts';

export interface Receiver {
  readonly events: LineStream<StatelyInspectionEvent>;
  /** Terminates abruptly, without closing its connections. */
  kill(): Promise<void>;
  /** Suspends the process: connections stay open, and nothing is read. */
  stop(): void;
}

/** Starts the package's server, and a receiver as its page would. */
export async function receive(port: number): Promise<Receiver> {
  const script = `import('@statelyai/inspect/server').then(({ createInspectorServer }) =>
    createInspectorServer({ port: ${port}, autoOpen: false }))`;
  const child = spawn(process.execPath, ['-e', script], { cwd: repository, stdio: 'inherit' });
  const ended = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(kill);
  await listening(port);
  const events = new LineStream<StatelyInspectionEvent>('inspection event');
  createWebSocketReceiver({ server: `ws://127.0.0.1:${port}` }).subscribe((event) =>
    events.push(event),
  );
  return { events, kill, stop: () => child.kill('SIGSTOP') };
}

/** The package's server does not report when it listens: keep trying to connect. */
async function listening(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const [reached] = await Promise.race([
      once(socket, 'connect').then(() => [true]),
      new Promise<[false]>((resolve) => socket.on('error', () => resolve([false]))),
    ]);
    socket.destroy();
    if (reached) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
