/** What was typed in the shell, kept between its runs. Lines with a secret in them are not. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { redactText } from '../../diagnosis/redaction.ts';

const maxLines = 500;

/** Where it lies, as the system has it. */
export function historyFile(
  environment: { readonly [name: string]: string | undefined } = process.env,
): string {
  const folder = environment['XDG_STATE_HOME'] || join(homedir(), '.local', 'state');
  return join(folder, 'mcp-actors', 'shell-history');
}

/** Whether a line may be kept. Redaction knows secrets by the name of a key and by their form. */
export function mayKeep(line: string): boolean {
  return line.trim() !== '' && redactText(line, Infinity) === line;
}

/** The newest line first, as readline has it; none if there is no file that can be read. */
export function readHistory(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(mayKeep).slice(0, maxLines);
  } catch {
    return [];
  }
}

/** Writes the file, for its owner alone. @returns whether it could be written */
export function writeHistory(file: string, lines: readonly string[]): boolean {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const kept = lines.filter(mayKeep).slice(0, maxLines);
    writeFileSync(file, `${kept.join('\n')}\n`, { mode: 0o600 });
    return true;
  } catch {
    return false;
  }
}
