/** Log file: `--log-file`. */
import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { UsageError } from './command.ts';

/**
 * Opens a file for appending. A new file is readable only by its owner, because logs reveal a
 * user's work.
 *
 * @throws {UsageError} if the file cannot be opened for writing; if it is a pipe, a socket or a
 *   block device; or if it is our own stdout, which is reserved for messages
 */
export function fileSink(path: string) {
  const descriptor = open(path);
  return {
    write(line: string): boolean {
      try {
        writeSync(descriptor, line);
        return true;
      } catch {
        // The disk may be full. The caller counts lost lines.
        return false;
      }
    },
    // Writes are synchronous.
    flush: () => Promise.resolve(),
  };
}

function open(path: string): number {
  const named = `--log-file: ${JSON.stringify(path)}`;
  const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
  let descriptor: number;
  try {
    // O_NONBLOCK, because opening a pipe would wait for a reader. Windows lacks it; undefined acts
    // as 0.
    descriptor = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600);
  } catch (error) {
    // Errors of a pipe without a reader, or a socket.
    const isUnfit = /^(?:ENXIO|EOPNOTSUPP)$/.test((error as NodeJS.ErrnoException).code ?? '');
    const reason = isUnfit
      ? unfit
      : `cannot be written: ${(error as NodeJS.ErrnoException).message}`;
    throw new UsageError(`${named} ${reason}`, { cause: error });
  }
  const fault = faultOf(fstatSync(descriptor));
  if (fault === undefined) return descriptor;
  closeSync(descriptor);
  throw new UsageError(`${named} ${fault}`);
}

const unfit = 'must be a file or a character device';

function faultOf(file: Stats): string | undefined {
  // A stalled reader of a pipe would block the event loop.
  if (!file.isFile() && !file.isCharacterDevice()) return unfit;
  const stdout = fstatSync(1);
  const isStdout = file.dev === stdout.dev && file.ino === stdout.ino;
  return isStdout ? "must not be this process's stdout, which carries the protocol" : undefined;
}
