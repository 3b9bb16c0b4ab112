/** Parses a command's arguments according to its option table. */
import { parseArgs } from 'node:util';
import type {
  Choice,
  CommandOption,
  Measured,
  OptionTable,
  OptionValue,
  Quantities,
} from './option.ts';
import { closestMatch } from 'mcp-actors/internal';
import { parseQuantity } from './units.ts';
import { UsageError, print } from '../command.ts';
import type { Command } from '../command.ts';

export type Values<T extends OptionTable> = { readonly [K in keyof T]: OptionValue<T[K]> };

export interface Parsed<T extends OptionTable> {
  readonly values: Values<T>;
  readonly positionals: readonly string[];
}

export interface CommandLine {
  /** Command as typed by users: `mcp-actors replay`. */
  readonly command: string;
  /** Arguments after the command's name. */
  readonly args: readonly string[];
  readonly environment?: { readonly [name: string]: string | undefined };
}

/** Parsed arguments of a command. */
export interface Called<T extends OptionTable> extends Parsed<T> {
  /** Arguments after `--`, if the command accepts a command line there; otherwise undefined. */
  readonly launched: readonly string[] | undefined;
}

/** `--help`, an option of every command. */
export const helpOption = { kind: 'switch', short: 'h', help: 'Print this text.' } as const;

/** Creates a command that parses its options and handles `--help`. */
export function commandOf<T extends OptionTable & { readonly help: typeof helpOption }>(
  command: string,
  { options, help, launches = false }: CommandText<T>,
  run: (called: Called<T>) => Promise<number>,
): Command {
  return {
    run: async (args) => {
      const at = launches ? args.indexOf('--') : -1;
      const line = { command, args: at === -1 ? args : args.slice(0, at) };
      if (switchIn(options, line, 'help')) {
        await print(process.stdout, help);
        return 0;
      }
      const launched = at === -1 ? undefined : args.slice(at + 1);
      return run({ ...parseOptions(options, line), launched });
    },
  };
}

interface CommandText<T extends OptionTable> {
  readonly options: T;
  readonly help: string;
  /** True if the command accepts a command line after `--`. */
  readonly launches?: boolean;
}

type Written = string | boolean | readonly (string | boolean)[] | undefined;

/**
 * Parses option values and positional arguments.
 *
 * @throws {UsageError} if an option is unknown or has an invalid value
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
 * Finds the first of these switches in the arguments. Ignores other values, so that `--help` works
 * next to an invalid one.
 *
 * @throws {UsageError} if an option is unknown
 */
export function switchIn<T extends OptionTable, K extends keyof T & string>(
  table: T,
  line: CommandLine,
  ...names: readonly K[]
): K | undefined {
  const { values } = parse(table, line);
  return names.find((name) => values[name] === true);
}

/** A given option with its raw value; true without a value. */
export interface GivenOption {
  readonly name: string;
  readonly value: string | true;
}

/**
 * Given options in table order, with raw values.
 *
 * @throws {UsageError} if an option is unknown
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
    case 'quantities':
      return { type: 'string' as const, multiple: true };
    default:
      return { type: 'string' as const };
  }
}

/** Adds empty values to options with an optional value, which `parseArgs` does not support. */
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
    case 'quantities':
      return quantitiesOf(`--${name}`, option, (value ?? []) as readonly string[]);
    default:
      return value === undefined ? undefined : quantityOf(`--${name}`, option, value as string);
  }
}

/**
 * Parses a quantity.
 *
 * @param as name for messages
 */
function quantityOf(as: string, { kind, bounds }: Measured, text: string): number {
  try {
    return parseQuantity(kind, text, bounds);
  } catch (error) {
    throw new UsageError(`${as} ${(error as Error).message}`, { cause: error });
  }
}

function quantitiesOf(
  flag: string,
  { placeholder, quantities }: Quantities,
  given: readonly string[],
): { readonly [name: string]: number } {
  const read = new Map<string, number>();
  for (const text of given) {
    const [, name, value] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined) {
      throw new UsageError(`${flag} must be ${placeholder}, got ${JSON.stringify(text)}`);
    }
    const quantity = Object.hasOwn(quantities, name) ? quantities[name] : undefined;
    if (quantity === undefined) throw new UsageError(unknownQuantity(flag, name, quantities));
    if (read.has(name)) throw new UsageError(`${flag} ${name} must not be given twice`);
    read.set(name, quantityOf(`${flag} ${name}`, quantity, value));
  }
  return Object.fromEntries(read);
}

function unknownQuantity(flag: string, name: string, quantities: Quantities['quantities']): string {
  const near = closestMatch(name, Object.keys(quantities));
  const advice = near === undefined ? 'See mcp-actors help limits' : `Did you mean ${near}?`;
  return `${flag}: unknown limit ${JSON.stringify(name)}. ${advice}`;
}

function choiceOf(
  name: string,
  { choices, default: byDefault, environment: variable }: Choice,
  given: string | undefined,
  environment: { readonly [name: string]: string | undefined },
): string {
  // Many hosts set a variable to "" to unset it.
  const fromEnvironment = variable === undefined ? undefined : environment[variable] || undefined;
  const source = given === undefined && variable !== undefined ? variable : `--${name}`;
  const value = given ?? fromEnvironment ?? byDefault;
  if (choices.includes(value)) return value;
  throw new UsageError(
    `${source} must be one of ${choices.join(', ')}, got ${JSON.stringify(value)}`,
  );
}

/** Rewrites the message of `parseArgs`, whose advice does not apply here. */
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
  if (option?.kind === 'switch') return `${quoted} takes no value, got ${given(quoted, args)}`;
  return `${quoted} needs a value, as in ${quoted}=VALUE`;
}

function given(name: string, args: readonly string[]): string {
  return JSON.stringify(args.find((arg) => arg.startsWith(`${name}=`)) ?? name);
}

function adviceFor(name: string, table: OptionTable, command: string): string {
  const setting = settingFor(name, table);
  if (setting !== undefined) return `Write ${setting}`;
  const near = closestMatch(name, Object.keys(table));
  const meant = near === undefined ? '' : `Did you mean --${near}? `;
  return `${meant}See ${command} --help; to name a file or directory that begins with a dash, write ./${name}`;
}

/**
 * Suggests the syntax for a limit given as a flag: `--max-pending` means `--limit
 * maxPending=VALUE`.
 */
function settingFor(name: string, table: OptionTable): string | undefined {
  for (const [flag, option] of Object.entries(table)) {
    if (option.kind !== 'quantities') continue;
    const known = Object.keys(option.quantities);
    const limit = known.find((each) => spellings(each).includes(name.replace(/^--/, '')));
    if (limit !== undefined) return `--${flag} ${limit}=VALUE`;
  }
  return undefined;
}

/**
 * Flag spellings of a limit: `http.maxEventBytes` as `max-event-bytes`, `max-event-size` or
 * `max-event`.
 */
function spellings(limit: string): readonly string[] {
  const words = limit
    .replace(/^.*\./, '')
    .replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const bare = words.replace(/-(?:ms|bytes|per-second)$/, '');
  return [words, bare, words.replace(/-bytes$/, '-size')];
}
