import { execFileSync } from 'node:child_process';

/**
 * Makes a named pipe: opening one for reading waits for a writer, unless it is asked not to. Windows has none in folders; the tests that
 * need one are skipped there (`test/tooling/systems.ts`).
 */
export function makeNamedPipe(path: string): void {
  if (process.platform === 'win32') return;
  execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', path]);
}
