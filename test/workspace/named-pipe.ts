import { execFileSync } from 'node:child_process';

/** Makes a named pipe: opening one for reading waits for a writer, unless it is asked not to. */
export function makeNamedPipe(path: string): void {
  execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', path]);
}
