/** `mcp-actors call` and `shell` as processes of their own. */
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { command, repository } from '../../../../test/e2e/server-process.ts';

/** A server that starts quickly: its tools are its arguments. */
export const smallServer = [
  process.execPath,
  join(repository, 'packages/client/test/hosts/small-server.mjs'),
] as const;

/** A folder of the test's own, which is the home of the commands that it runs. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-actors-client-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface StartedCommand {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<Ended>;
  /** What stderr has so far. */
  errors(): string;
  /** Resolves when stderr or stdout has this text. */
  shows(text: string): Promise<void>;
}

/** Starts the command with a home of its own. What is still there at the test's end is killed. */
export function startCommand(
  args: readonly string[],
  home: string,
  variables: { readonly [name: string]: string } = {},
): StartedCommand {
  const child = spawn(process.execPath, [...command, ...args], {
    cwd: home,
    env: { ...process.env, HOME: home, XDG_CACHE_HOME: home, XDG_STATE_HOME: home, ...variables },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = once(child, 'close').then(([code]) => ({
    code: code as number | null,
    stdout,
    stderr,
  }));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    child,
    ended,
    errors: () => stderr,
    shows: async (text) => {
      while (!stdout.includes(text) && !stderr.includes(text)) {
        await Promise.race([
          once(child.stdout, 'data'),
          once(child.stderr, 'data'),
          ended.then(() => Promise.reject(new Error(`It has ended without ${text}: ${stderr}`))),
        ]);
      }
    },
  };
}

/** Runs the command to its end, with this on stdin. */
export function runCommand(
  args: readonly string[],
  input = '',
  home = temporaryFolder(),
): Promise<Ended> {
  const { child, ended } = startCommand(args, home);
  // A command that does not read its input may end before it is written.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  return ended;
}
