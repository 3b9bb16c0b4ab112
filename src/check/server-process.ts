/** A server in a process of its own, over stdio. */
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Exit, Launch } from './wire.ts';

/** Servers that run. What is left of them is killed when this process ends. */
const running = new Set<ChildProcessWithoutNullStreams>();
process.on('exit', () => {
  for (const child of running) killGroup(child);
});

/** So much of the end of stderr is kept, characters. */
const keptStderr = 2000;

/** Starts a command as a server, in the working directory of this process. */
export function launchProcess(command: string, args: readonly string[]): Launch {
  return (listener) => {
    // In a group of its own, so that what a wrapper such as npx has started ends with it.
    const child = spawn(command, args, { stdio: 'pipe', detached: process.platform !== 'win32' });
    running.add(child);
    let failure: string | undefined;
    let stderr = '';
    const ended = (exit: Exit) => {
      if (!running.delete(child)) return;
      // It may have left some that it had started.
      killGroup(child);
      listener.ended(exit);
    };
    child.on('error', (error) => {
      failure = error.message;
      if (child.pid === undefined) ended({ code: null, signal: null, failure });
    });
    child.on('close', (code, signal) =>
      ended({ code, signal, stderr, ...(failure ? { failure } : {}) }),
    );
    // It may end before it has read everything.
    child.stdin.on('error', () => {});
    child.stderr.setEncoding('utf8');
    child.stderr.on('data', (text: string) => {
      stderr = (stderr + text).slice(-keptStderr);
    });
    eachLine(child, (line) => listener.line(line));
    return {
      send: (text) => {
        if (child.stdin.writable) child.stdin.write(text);
      },
      end: () => child.stdin.end(),
      kill: () => {
        if (running.has(child)) killGroup(child);
      },
    };
  };
}

/** Splits stdout at line feeds. What is no UTF-8 becomes a line that is no JSON. */
function eachLine({ stdout }: ChildProcessWithoutNullStreams, take: (line: string) => void): void {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let parts: Buffer[] = [];
  const finish = () => {
    const bytes = Buffer.concat(parts);
    parts = [];
    try {
      take(decoder.decode(bytes));
    } catch {
      take(`(no UTF-8) ${bytes.toString('latin1')}`);
    }
  };
  stdout.on('data', (chunk: Buffer) => {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, at));
      finish();
      from = at + 1;
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
  });
  stdout.on('end', () => {
    if (parts.length > 0) finish();
  });
}

function killGroup({ pid }: ChildProcessWithoutNullStreams): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch (error) {
    // It has ended in the meantime.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
