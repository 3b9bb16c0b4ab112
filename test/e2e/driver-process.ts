/** The driver in a separate process, and its output. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, onTestFinished } from 'vitest';
import { program } from '../tooling/programs.ts';
import { LineStream, eachLine } from './line-stream.ts';
import { repository } from './server-process.ts';

export type Told = { readonly event: string; readonly [field: string]: unknown };

export interface DriverProcess {
  readonly told: LineStream<Told>;
  /** Sends a command without waiting, and returns its `ref`. */
  send(command: object): string;
  /** Sends a line unchanged. */
  line(text: string): void;
  /** Sends an incomplete line. */
  text(text: string): void;
  /** Awaits the result of a command. */
  result(ref: string): Promise<Told>;
  /** Sends a command and returns its value. Rejects on an error. */
  run(command: object): Promise<Record<string, unknown>>;
  /** Sends a command and returns its error. */
  fail(command: object): Promise<Record<string, unknown>>;
  /** Closes stdin and returns the exit code. */
  end(): Promise<number | null>;
  signal(name: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): void;
  readonly exited: Promise<number | null>;
}

/** A separate driver, closed with the test. */
export function startDriver(): DriverProcess {
  const { driver, kill } = launchDriver();
  onTestFinished(kill);
  return driver;
}

/**
 * Returns a function that gives all tests of a file the same driver. Each test sees the events
 * during its run, and its connections are closed at its end. Not suitable for states right after
 * `connect`, which may belong to a closed connection, nor for managers and shutdown.
 */
export function sharedDriver(): () => DriverProcess {
  let launched: LaunchedDriver | undefined;
  afterAll(() => launched?.kill());
  return () => {
    if (!launched?.isRunning()) launched = launchDriver();
    const { driver, tellTo } = launched;
    const told = new LineStream<Told>('event');
    const names = new Set<string>();
    const send = (command: object): string => {
      const { op, name } = command as { readonly op?: unknown; readonly name?: unknown };
      if (op === 'connect' && typeof name === 'string') names.add(name);
      return driver.send(command);
    };
    const leave = tellTo(told);
    onTestFinished(async () => {
      const closing = [...names].map((name) => driver.send({ op: 'close', name }));
      await Promise.all(closing.map((ref) => driver.result(ref)));
      leave();
    });
    return { ...driver, told, send, ...resultsOf(told, send) };
  };
}

interface LaunchedDriver {
  readonly driver: DriverProcess;
  /** Also reports events there, until the returned function is called. */
  tellTo(told: LineStream<Told>): () => void;
  isRunning(): boolean;
  kill(): Promise<void>;
}

function launchDriver(): LaunchedDriver {
  const child = spawn(process.execPath, program('examples/driver/client.ts'), {
    cwd: repository,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const told = new LineStream<Told>('event');
  const streams = new Set([told]);
  eachLine(child.stdout, (text) => {
    const event = JSON.parse(text) as Told;
    for (const stream of streams) stream.push(event);
  });
  const exited = once(child, 'close').then(([code]) => {
    for (const stream of streams) stream.end('the driver has ended');
    return code as number | null;
  });
  let count = 0;
  const line = (text: string) => void child.stdin.write(`${text}\n`);
  const send = (command: object): string => {
    const ref = `r${++count}`;
    line(JSON.stringify({ ...command, ref }));
    return ref;
  };
  const driver: DriverProcess = {
    told,
    send,
    line,
    text: (text) => void child.stdin.write(text),
    exited,
    ...resultsOf(told, send),
    end: () => {
      child.stdin.end();
      return exited;
    },
    signal: (name) => void child.kill(name),
  };
  return {
    driver,
    tellTo: (stream) => {
      streams.add(stream);
      return () => void streams.delete(stream);
    },
    isRunning: () => child.exitCode === null && child.signalCode === null,
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

function resultsOf(
  told: LineStream<Told>,
  send: DriverProcess['send'],
): Pick<DriverProcess, 'result' | 'run' | 'fail'> {
  const result = (ref: string) =>
    told.find(({ event, ref: its }) => event === 'result' && its === ref);
  return {
    result,
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
  };
}
