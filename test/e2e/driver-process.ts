/** The driver in a process of its own, and what it has told. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { program } from '../tooling/programs.ts';
import { LineStream, eachLine } from './line-stream.ts';
import { repository } from './server-process.ts';

export type Told = { readonly event: string; readonly [field: string]: unknown };

export interface DriverProcess {
  readonly told: LineStream<Told>;
  /** Sends a command without waiting, and gives its `ref`. */
  send(command: object): string;
  /** Sends a line as it is. */
  line(text: string): void;
  /** Sends what is no whole line. */
  text(text: string): void;
  /** The result of a command that was sent. */
  result(ref: string): Promise<Told>;
  /** Sends a command, and gives its value. Rejects if there is an error. */
  run(command: object): Promise<Record<string, unknown>>;
  /** Sends a command, and gives its error. */
  fail(command: object): Promise<Record<string, unknown>>;
  /** Ends its input, and gives its exit code. */
  end(): Promise<number | null>;
  signal(name: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): void;
  readonly exited: Promise<number | null>;
}

export function startDriver(): DriverProcess {
  const child = spawn(process.execPath, program('examples/driver/client.ts'), {
    cwd: repository,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const told = new LineStream<Told>('event');
  eachLine(child.stdout, (text) => told.push(JSON.parse(text) as Told));
  const exited = once(child, 'close').then(([code]) => {
    told.end('the driver has ended');
    return code as number | null;
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  let count = 0;
  const line = (text: string) => void child.stdin.write(`${text}\n`);
  const send = (command: object): string => {
    const ref = `r${++count}`;
    line(JSON.stringify({ ...command, ref }));
    return ref;
  };
  const result = (ref: string) =>
    told.find(({ event, ref: its }) => event === 'result' && its === ref);
  return {
    told,
    send,
    line,
    text: (text) => void child.stdin.write(text),
    result,
    exited,
    run: async (command) => {
      const { ok, value, error } = await result(send(command));
      if (ok !== true) throw new Error(`${JSON.stringify(command)}: ${JSON.stringify(error)}`);
      return value as Record<string, unknown>;
    },
    fail: async (command) => {
      const { ok, value, error } = await result(send(command));
      if (ok !== false) throw new Error(`${JSON.stringify(command)}: ${JSON.stringify(value)}`);
      return error as Record<string, unknown>;
    },
    end: () => {
      child.stdin.end();
      return exited;
    },
    signal: (name) => void child.kill(name),
  };
}
