/** `mcp-actors` at a pseudo-terminal, which `script` of util-linux makes. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { stripVTControlCharacters } from 'node:util';
import { onTestFailed, onTestFinished } from 'vitest';
import { command } from '../../../../test/e2e/server-process.ts';

/** Whether there is such a `script`: the one of macOS and BSD is another. */
export const hasTerminals =
  process.platform === 'linux' &&
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true;

export const key = {
  ctrlC: '\u0003',
  ctrlD: '\u0004',

  enter: '\r',
  tab: '\t',
} as const;

export interface TerminalSession {
  /** Resolves once the screen has shown this since it was asked last. */
  shows(text: string): Promise<void>;
  /** Presses these keys, in one go. */
  press(keys: string): void;
  /** The screen as text, and as the terminal got it. */
  readonly ended: Promise<{
    readonly code: number | null;
    readonly screen: string;
    readonly raw: string;
  }>;
}

/** Starts the command at a terminal of its own. What is still there at the test's end is killed. */
export function atTerminal(args: readonly string[], home: string): TerminalSession {
  const line = [process.execPath, ...command, ...args].map(quoted).join(' ');
  const child = spawn(
    'script',
    ['--quiet', '--return', '--flush', '--command', line, '/dev/null'],
    {
      cwd: home,
      env: {
        ...process.env,
        ...{ HOME: home, XDG_CACHE_HOME: home, XDG_STATE_HOME: home, TERM: 'xterm' },
      },
    },
  );
  let screen = '';
  let seen = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => (screen += text));
  const ended = once(child, 'close').then(([code]) => ({
    code: code as number | null,
    screen: stripVTControlCharacters(screen),
    raw: screen,
  }));
  // Without it nobody knows what was waited for in vain.
  onTestFailed(() => void process.stderr.write(`The screen: ${JSON.stringify(screen)}\n`));
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  return {
    ended,
    press: (keys) => void child.stdin.write(keys),
    shows: async (text) => {
      for (;;) {
        const at = screen.indexOf(text, seen);
        if (at !== -1) return void (seen = at + text.length);
        await Promise.race([
          once(child.stdout, 'data'),
          ended.then(() => Promise.reject(new Error(`It has ended without ${text}: ${screen}`))),
        ]);
      }
    },
  };
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
