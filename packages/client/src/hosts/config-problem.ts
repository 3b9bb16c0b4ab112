/** What is wrong with a configuration of servers, for the person who wrote it. */
import { redactText } from '../../../diagnostics/src/redaction.ts';
import { inspectValue } from '../../../../src/protocol/classify.ts';
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import { printable, quoted } from '../../../../src/protocol/printable.ts';

/** One thing that is wrong, and where it is. */
export interface ConfigProblem {
  /** Undefined if the configuration was given as an object. */
  readonly file?: string | undefined;
  /** From 1 on; undefined if no text was read, or if it is about the whole file. */
  readonly line?: number | undefined;
  /** Undefined if it is about the whole file. */
  readonly server?: string | undefined;
  /** The key, down to the element: `args[1]`, `env.PORT`. Undefined if it is about the whole entry. */
  readonly key?: string | undefined;
  /** What is wrong and what is allowed. Contains no secret. */
  readonly message: string;
}

/** One line: `mcp.json: line 7, server "github", key "args[1]": 3 is not a text`. */
export function formatConfigProblem({ file, line, server, key, message }: ConfigProblem): string {
  const place = [
    ...(line === undefined ? [] : [`line ${line}`]),
    ...(server === undefined ? [] : [`server ${quoted(server)}`]),
    ...(key === undefined ? [] : [`key ${quoted(key)}`]),
  ].join(', ');
  const parts = [file === undefined ? '' : printable(file), place, message];
  return parts.filter((part) => part !== '').join(': ');
}

/** All faults in one error, a line for each. */
export function configInvalid(faults: readonly ConfigProblem[], cause?: unknown): RuntimeError {
  return new RuntimeError('CONFIG_INVALID', faults.map(formatConfigProblem).join('\n'), { cause });
}

/**
 * A value in a sentence, as far as it may be shown. Environment variables and headers always count
 * as secrets. Other values are shown after redaction.
 */
export function shownEntry(key: string, value: unknown): string {
  const isSecret = /^(?:env|headers|oauth\.clientSecret|auth\.clientSecret)\b/.test(key);
  if (isSecret && typeof value !== 'object') return `the value, a ${typeof value},`;
  return printable(redactText(inspectValue(value)), 200);
}
