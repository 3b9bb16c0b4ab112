/**
 * Where log lines go. A sink that fails says so by its return value and in no other way: it knows no log, so that a failure to
 * log can never lead to another line.
 */
import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { UsageError } from '../command.ts';

export interface LogSink {
  /** @returns false where the line is lost */
  write(line: string): boolean;
  /** Resolves once everything is with the operating system, or cannot be. Never rejects. */
  flush(): Promise<void>;
}

/** What may wait for whoever reads stderr, bytes: many hosts open the pipe and never read it. */
const maxBacklogBytes = 1024 ** 2;
/** How long the end of the process waits for a reader that does not read. */
const flushTimeoutMs = 250;

/** A stream, such as stderr. It may break or never be read. */
export function streamSink(stream: NodeJS.WritableStream & StreamState): LogSink {
  // Without a listener a broken pipe would end the process. There is nobody to tell: this is where one tells.
  stream.on('error', () => {});
  return {
    write(line) {
      if (!stream.writable || stream.writableLength > maxBacklogBytes) return false;
      stream.write(line);
      return true;
    },
    flush: () =>
      new Promise((resolve) => {
        if (!stream.writable || stream.writableLength === 0) return resolve();
        const timer = setTimeout(resolve, flushTimeoutMs);
        stream.write('', () => {
          clearTimeout(timer);
          resolve();
        });
      }),
  };
}

interface StreamState {
  readonly writable: boolean;
  readonly writableLength: number;
}

/**
 * A file, appended to; created for its owner alone, because a log tells of a person's work.
 *
 * @throws {UsageError} it cannot be opened for writing, is a pipe, a socket or a block device, or is our own stdout, where only messages
 *   may go
 */
export function fileSink(path: string): LogSink {
  const descriptor = open(path);
  return {
    write(line) {
      try {
        writeSync(descriptor, line);
        return true;
      } catch {
        // A full disk: the caller counts what is lost.
        return false;
      }
    },
    // Each write has been handed over before it returned.
    flush: () => Promise.resolve(),
  };
}

function open(path: string): number {
  const named = `--log-file: ${JSON.stringify(path)}`;
  const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
  let descriptor: number;
  try {
    // Not blocking: opening a pipe would wait for a reader. Windows lacks this; what is undefined counts as 0 here.
    descriptor = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600);
  } catch (error) {
    // A pipe that nobody reads, or a socket.
    const isUnfit = /^(?:ENXIO|EOPNOTSUPP)$/.test((error as NodeJS.ErrnoException).code ?? '');
    const reason = isUnfit
      ? unfit
      : `cannot be written to: ${(error as NodeJS.ErrnoException).message}`;
    throw new UsageError(`${named} ${reason}`, { cause: error });
  }
  const fault = faultOf(fstatSync(descriptor));
  if (fault === undefined) return descriptor;
  closeSync(descriptor);
  throw new UsageError(`${named} ${fault}`);
}

const unfit = 'is neither a file nor a terminal or another character device; name a file';

function faultOf(file: Stats): string | undefined {
  // A pipe whose reader stops would stop the event loop with it.
  if (!file.isFile() && !file.isCharacterDevice()) return unfit;
  const stdout = fstatSync(1);
  const isStdout = file.dev === stdout.dev && file.ino === stdout.ino;
  return isStdout
    ? "is this process's stdout, which carries the protocol; name another file"
    : undefined;
}
