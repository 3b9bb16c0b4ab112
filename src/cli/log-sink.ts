/**
 * Where log lines go. A sink that fails says so by its return value and in no other way: it knows no log, so that a failure to
 * log can never lead to another line.
 */
import { closeSync, fstatSync, openSync, writeSync } from 'node:fs';
import { UsageError } from './command.ts';

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
 * @throws {UsageError} it cannot be opened for writing, or is our own stdout, where only messages may go
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
  try {
    const descriptor = openSync(path, 'a', 0o600);
    if (!isStdout(descriptor)) return descriptor;
    closeSync(descriptor);
  } catch (error) {
    const reason = (error as Error).message;
    throw new UsageError(`--log-file: ${JSON.stringify(path)} cannot be written to: ${reason}`, {
      cause: error,
    });
  }
  throw new UsageError(
    `--log-file: ${JSON.stringify(path)} is this process's stdout, which carries the protocol; name another file`,
  );
}

function isStdout(descriptor: number): boolean {
  const [file, stdout] = [fstatSync(descriptor), fstatSync(1)];
  return file.dev === stdout.dev && file.ino === stdout.ino;
}
