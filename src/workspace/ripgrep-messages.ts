/** What ripgrep writes to its stderr: problems for a person, and with `--debug` what it has left out. */
import type { Readable } from 'node:stream';

const maxKeptCharacters = 64 * 1024;
const maxLineCharacters = 16 * 1024;
const tooLarge = /^rg: DEBUG\|ignore::walk\|[^:]+:\d+: ignoring (.+): \d+ bytes$/;

/**
 * Reads the messages as they come. Gives a function that tells the problems so far: the last 64 KiB of them.
 *
 * @param onTooLarge told the path of each file that `--max-filesize` has left out
 */
export function readMessages(
  stderr: Readable,
  onTooLarge: (path: string) => void = () => {},
): () => string {
  let problems = '';
  let rest = '';
  const take = (line: string): void => {
    if (!line.startsWith('rg: DEBUG|')) {
      problems = `${problems}${line}\n`.slice(-maxKeptCharacters);
      return;
    }
    const path = tooLarge.exec(line)?.[1];
    if (path !== undefined) onTooLarge(path);
  };
  stderr.setEncoding('utf8');
  stderr.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = (lines.pop() ?? '').slice(0, maxLineCharacters);
    lines.forEach(take);
  });
  return () => problems + rest;
}
