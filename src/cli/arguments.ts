/** Reads the command line and the environment. */
import { parseArgs } from 'node:util';
import type { Limits } from '../server/limits.ts';
import { logLevels } from './log-level.ts';
import type { LogLevel } from './log-level.ts';
import { options } from './options.ts';
import type { Option } from './options.ts';
import { parseQuantity } from './units.ts';
import { UsageError } from './usage-error.ts';

/** What the command is to do. */
export type Invocation = { readonly kind: 'help' } | { readonly kind: 'version' } | ServeInvocation;

export interface ServeInvocation {
  readonly kind: 'serve';
  /** As they were given, not checked yet. */
  readonly directories: readonly string[];
  readonly logLevel: LogLevel;
  readonly logFile: string | undefined;
  readonly followRoots: boolean;
  readonly chdir: boolean;
  /** Those that were given. */
  readonly limits: Partial<Limits>;
}

type Values = { readonly [name: string]: string | boolean | undefined };

/**
 * Reads the arguments after the script's name.
 *
 * @throws {UsageError} an unknown option, or a value that an option does not take
 */
export function readArguments(
  args: readonly string[],
  environment: { readonly [name: string]: string | undefined },
): Invocation {
  const { values, positionals } = parse(args);
  if (values['help'] === true) return { kind: 'help' };
  if (values['version'] === true) return { kind: 'version' };
  const [first, ...rest] = positionals;
  return {
    kind: 'serve',
    directories: first === 'serve' ? rest : positionals,
    logLevel: readLogLevel(values, environment),
    logFile: readLogFile(values),
    followRoots: values['follow-roots'] === true,
    chdir: values['chdir'] === true,
    limits: readLimits(values),
  };
}

function parse(args: readonly string[]): { values: Values; positionals: readonly string[] } {
  const config = Object.fromEntries(
    Object.entries<Option>(options).map(([name, option]) => [
      name,
      option.kind === 'switch'
        ? {
            type: 'boolean' as const,
            ...(option.short === undefined ? {} : { short: option.short }),
          }
        : { type: 'string' as const },
    ]),
  );
  try {
    return parseArgs({ args: [...args], options: config, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(explain(error, args), { cause: error });
  }
}

/** `parseArgs` advises on its own options' syntax; here its message is put in this command's terms. */
function explain(error: unknown, args: readonly string[]): string {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  const quoted = /'(?:-\w, )?(--?[^'= ]+)/.exec(message)?.[1];
  if (quoted === undefined) return message;
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    return `Unknown option ${quoted}. ${adviceFor(quoted)}`;
  }
  const option = (options as { readonly [name: string]: Option })[quoted.replace(/^--/, '')];
  if (option?.kind === 'switch') return `${quoted} takes no value, this is ${given(quoted, args)}`;
  return `${quoted} needs a value, as in ${quoted}=VALUE`;
}

function given(name: string, args: readonly string[]): string {
  return JSON.stringify(args.find((arg) => arg.startsWith(`${name}=`)) ?? name);
}

function adviceFor(name: string): string {
  const near = Object.keys(options).find((known) => isNear(known, name.replace(/^-+/, '')));
  const meant = near === undefined ? '' : `Is it --${near} that you mean? `;
  return `${meant}See mcp-actors --help; a directory whose name begins with a dash is written ./${name}`;
}

/** True for names that differ by a missing part, or by little: half of the shorter one's letter pairs occur in the other. */
function isNear(known: string, written: string): boolean {
  if (written.length < 3) return false;
  if (known.startsWith(written) || written.startsWith(known)) return true;
  const pairs = (word: string) =>
    Array.from({ length: word.length - 1 }, (_, i) => word.slice(i, i + 2));
  const [a, b] = [pairs(known), new Set(pairs(written))];
  return (2 * a.filter((pair) => b.has(pair)).length) / (a.length + b.size) > 0.6;
}

function readLogLevel(
  values: Values,
  environment: { readonly [name: string]: string | undefined },
): LogLevel {
  const { choices, default: byDefault, environment: variable } = options['log-level'];
  const option = values['log-level'];
  // An empty variable is how many a host's configuration says "not set".
  const [source, value] =
    typeof option === 'string'
      ? ['--log-level', option]
      : [variable, environment[variable] || byDefault];
  if (!(choices as readonly string[]).includes(value)) {
    throw new UsageError(
      `${source}: ${JSON.stringify(value)} is not one of ${logLevels.join(', ')}`,
    );
  }
  return value as LogLevel;
}

function readLogFile(values: Values): string | undefined {
  const file = values['log-file'];
  if (file === '') throw new UsageError('--log-file needs the name of a file');
  return typeof file === 'string' ? file : undefined;
}

function readLimits(values: Values): Partial<Limits> {
  const limits: { -readonly [K in keyof Limits]?: number } = {};
  for (const [name, option] of Object.entries<Option>(options)) {
    const value = values[name];
    if (typeof value !== 'string' || !('limit' in option)) continue;
    try {
      limits[option.limit] = parseQuantity(option.kind, value, option.bounds);
    } catch (error) {
      throw new UsageError(`--${name}: ${(error as Error).message}`, { cause: error });
    }
  }
  return limits;
}
