/** The log as a file: `--log-file`. */
import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { UsageError } from './command.ts';

/**
 * Appends to a file. A new file is readable by its owner alone, because a log shows a person's
 * work.
 *
 * @throws {UsageError} it cannot be opened for writing; it is a pipe, a socket or a block device;
 *   or it is our own stdout, which carries messages only
 */
export function fileSink(path: string) {
  const descriptor = open(path);
  return {
    write(line: string): boolean {
      try {
        writeSync(descriptor, line);
        return true;
      } catch {
        // The disk is full: the caller counts the lost lines.
        return false;
      }
    },
    // Each write was synchronous.
    flush: () => Promise.resolve(),
  };
}

function open(path: string): number {
  const named = `--log-file: ${JSON.stringify(path)}`;
  const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
  let descriptor: number;
  try {
    // Opening a pipe would otherwise wait for a reader. Windows lacks O_NONBLOCK: undefined acts as
    // 0.
    descriptor = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600);
  } catch (error) {
    // A pipe without a reader, or a socket.
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
  // If a pipe's reader stopped, the event loop would stop too.
  if (!file.isFile() && !file.isCharacterDevice()) return unfit;
  const stdout = fstatSync(1);
  const isStdout = file.dev === stdout.dev && file.ino === stdout.ino;
  return isStdout
    ? "is this process's stdout, which carries the protocol; name another file"
    : undefined;
}
