/** Parses a command's arguments by its table of options. */
import { parseArgs } from 'node:util';
import type { Choice, CommandOption, OptionTable, OptionValue } from './option.ts';
import { nearest } from '../../protocol/nearest.ts';
import { parseQuantity } from './units.ts';
import { UsageError } from '../command.ts';

export type Values<T extends OptionTable> = { readonly [K in keyof T]: OptionValue<T[K]> };

export interface Parsed<T extends OptionTable> {
  readonly values: Values<T>;
  readonly positionals: readonly string[];
}

export interface CommandLine {
  /** The command as users write it: `mcp-actors replay`. */
  readonly command: string;
  /** The arguments after the command's name. */
  readonly args: readonly string[];
  readonly environment?: { readonly [name: string]: string | undefined };
}

type Written = string | boolean | readonly (string | boolean)[] | undefined;

/**
 * Reads the options' values and the positional arguments.
 *
 * @throws {UsageError} an option is unknown, or does not take the given value
 */
export function parseOptions<T extends OptionTable>(table: T, line: CommandLine): Parsed<T> {
  const { values, positionals } = parse(table, line);
  const read = Object.entries(table).map(([name, option]) => [
    name,
    valueOf(name, option, values[name], line),
  ]);
  return { values: Object.fromEntries(read) as Values<T>, positionals };
}

/**
 * The first of these switches that is given. The other options' values are not checked, so that
 * `--help` also works beside a wrong one.
 *
 * @throws {UsageError} an option is unknown
 */
export function switchIn<T extends OptionTable, K extends keyof T & string>(
  table: T,
  line: CommandLine,
  ...names: readonly K[]
): K | undefined {
  const { values } = parse(table, line);
  return names.find((name) => values[name] === true);
}

/** An option as it was written; true if it has no value. */
export interface GivenOption {
  readonly name: string;
  readonly value: string | true;
}

/**
 * The options of the table that are given, in its order, with the values as they were written.
 *
 * @throws {UsageError} an option is unknown
 */
export function optionsGiven(table: OptionTable, line: CommandLine): readonly GivenOption[] {
  const { values } = parse(table, line);
  return Object.keys(table).flatMap((name) => {
    const value = values[name] ?? [];
    return [value].flat().flatMap((one) => (one === false ? [] : [{ name, value: one }]));
  });
}

function parse(
  table: OptionTable,
  { command, args }: CommandLine,
): { values: { readonly [name: string]: Written }; positionals: readonly string[] } {
  const config = Object.fromEntries(
    Object.entries(table).map(([name, option]) => [name, configOf(option)]),
  );
  try {
    return parseArgs({
      args: withEmptyValues(table, args),
      options: config,
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    throw new UsageError(explain(error, table, command, args), { cause: error });
  }
}

function configOf(option: CommandOption) {
  switch (option.kind) {
    case 'switch':
      return {
        type: 'boolean' as const,
        ...(option.short === undefined ? {} : { short: option.short }),
      };
    case 'texts':
      return { type: 'string' as const, multiple: true };
    default:
      return { type: 'string' as const };
  }
}

/** `parseArgs` has no options with an optional value: they get an empty one. */
function withEmptyValues(table: OptionTable, args: readonly string[]): string[] {
  const end = args.indexOf('--');
  return args.map((arg, at) => {
    if (end !== -1 && at > end) return arg;
    const option = arg.startsWith('--') ? table[arg.slice(2)] : undefined;
    return option?.kind === 'text' && option.optional ? `${arg}=` : arg;
  });
}

function valueOf(
  name: string,
  option: CommandOption,
  value: Written,
  { environment = {} }: CommandLine,
): unknown {
  switch (option.kind) {
    case 'switch':
      return value === true;
    case 'choice':
      return choiceOf(name, option, value as string | undefined, environment);
    case 'text':
      if (value === '' && !option.optional) {
        throw new UsageError(`--${name} needs ${option.placeholder}`);
      }
      return value;
    case 'texts':
      return value ?? [];
    default:
      if (value === undefined) return undefined;
      try {
        return parseQuantity(option.kind, value as string, option.bounds);
      } catch (error) {
        throw new UsageError(`--${name}: ${(error as Error).message}`, { cause: error });
      }
  }
}

function choiceOf(
  name: string,
  { choices, default: byDefault, environment: variable }: Choice,
  given: string | undefined,
  environment: { readonly [name: string]: string | undefined },
): string {
  // In many hosts' configurations an empty variable means "not set".
  const fromEnvironment = variable === undefined ? undefined : environment[variable] || undefined;
  const source = given === undefined && variable !== undefined ? variable : `--${name}`;
  const value = given ?? fromEnvironment ?? byDefault;
  if (choices.includes(value)) return value;
  throw new UsageError(`${source}: ${JSON.stringify(value)} is not one of ${choices.join(', ')}`);
}

/** Replaces the message of `parseArgs`, whose advice does not fit this command. */
function explain(
  error: unknown,
  table: OptionTable,
  command: string,
  args: readonly string[],
): string {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  const quoted = /'(?:-\w, )?(--?[^'= ]+)/.exec(message)?.[1];
  if (quoted === undefined) return message;
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    return `Unknown option ${quoted}. ${adviceFor(quoted, table, command)}`;
  }
  const option = table[quoted.replace(/^--/, '')];
  if (option?.kind === 'switch') return `${quoted} takes no value, this is ${given(quoted, args)}`;
  return `${quoted} needs a value, as in ${quoted}=VALUE`;
}

function given(name: string, args: readonly string[]): string {
  return JSON.stringify(args.find((arg) => arg.startsWith(`${name}=`)) ?? name);
}

function adviceFor(name: string, table: OptionTable, command: string): string {
  const near = nearest(name, Object.keys(table));
  const meant = near === undefined ? '' : `Did you mean --${near}? `;
  return `${meant}See ${command} --help; to name a file or directory that begins with a dash, write ./${name}`;
}
