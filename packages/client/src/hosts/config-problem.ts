/** Faults in a server configuration, for its author. */
import { redactText } from '../../../diagnostics/src/redaction.ts';
import { inspectValue } from '../../../../src/protocol/classify.ts';
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import { printable, quoted } from '../../../../src/protocol/printable.ts';

/** A fault and its location. */
export interface ConfigProblem {
  /** Undefined if the configuration was given as an object. */
  readonly file?: string | undefined;
  /** Line number, from 1; undefined without a text, or for a fault of the whole file. */
  readonly line?: number | undefined;
  /** Undefined for a fault of the whole file. */
  readonly server?: string | undefined;
  /**
   * The key, down to the element: `args[1]`, `env.PORT`. Undefined for a fault of the whole entry.
   */
  readonly key?: string | undefined;
  /** The problem and the accepted values. Contains no secret. */
  readonly message: string;
}

/**
 * Formats a fault as one line: `mcp.json: line 7, server "github", key "args[1]": 3 is not a text`.
 */
export function formatConfigProblem({ file, line, server, key, message }: ConfigProblem): string {
  const place = [
    ...(line === undefined ? [] : [`line ${line}`]),
    ...(server === undefined ? [] : [`server ${quoted(server)}`]),
    ...(key === undefined ? [] : [`key ${quoted(key)}`]),
  ].join(', ');
  const parts = [file === undefined ? '' : printable(file), place, message];
  return parts.filter((part) => part !== '').join(': ');
}

/** Combines all faults in one error, one per line. */
export function configInvalid(faults: readonly ConfigProblem[], cause?: unknown): RuntimeError {
  return new RuntimeError('CONFIG_INVALID', faults.map(formatConfigProblem).join('\n'), { cause });
}

/** A value for a message, redacted. Environment variables and headers always count as secrets. */
export function shownEntry(key: string, value: unknown): string {
  const isSecret = /^(?:env|headers|oauth\.clientSecret|auth\.clientSecret)\b/.test(key);
  if (isSecret && typeof value !== 'object') return `the value, a ${typeof value},`;
  return printable(redactText(inspectValue(value)), 200);
}
