/** What ripgrep writes to its stderr: problems for a person, and with `--debug` what it does with which file. */
import type { Readable } from 'node:stream';

const maxKeptCharacters = 64 * 1024;
const maxLineCharacters = 16 * 1024;
const tooLarge = /^rg: DEBUG\|ignore::walk\|[^:]+:\d+: ignoring (.+): \d+ bytes$/;
const ignoreFile = /^rg: DEBUG\|ignore::gitignore\|[^:]+:\d+: opened gitignore file: (.+)$/;

export interface MessageListeners {
  /** Told the path of each file that `--max-filesize` has left out. */
  readonly onTooLarge?: ((path: string) => void) | undefined;
  /** Told the path of each file that says which ones to ignore, when it has been opened. */
  readonly onIgnoreFile: (path: string) => void;
}

/** Reads the messages as they come. Gives a function that tells the problems so far: the last 64 KiB of them. */
export function readMessages(
  stderr: Readable,
  { onTooLarge, onIgnoreFile }: MessageListeners,
): () => string {
  let problems = '';
  let rest = '';
  const take = (line: string): void => {
    if (!line.startsWith('rg: DEBUG|')) {
      problems = `${problems}${line}\n`.slice(-maxKeptCharacters);
      return;
    }
    const left = tooLarge.exec(line)?.[1];
    if (left !== undefined) onTooLarge?.(left);
    const opened = ignoreFile.exec(line)?.[1];
    if (opened !== undefined) onIgnoreFile(opened);
  };
  stderr.setEncoding('utf8');
  stderr.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = (lines.pop() ?? '').slice(0, maxLineCharacters);
    lines.forEach(take);
  });
  return () => problems + rest;
}
