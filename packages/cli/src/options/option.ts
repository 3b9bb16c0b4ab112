/** Option tables of commands, from which parser, help text and documentation are derived. */
import { formatQuantity } from './units.ts';
import type { Bounds, Quantity } from './units.ts';

/** Maximum delay of `setTimeout`; longer ones fire immediately. */
const longestTimeMs = 2 ** 31 - 1;

// Default bounds of quantities.
export const duration = { kind: 'duration', bounds: { min: 1, max: longestTimeMs } } as const;
export const size = { kind: 'size', bounds: { min: 1, max: Number.MAX_SAFE_INTEGER } } as const;
export const count = { kind: 'count', bounds: { min: 1, max: Number.MAX_SAFE_INTEGER } } as const;

interface OptionBase {
  /** One or two sentences of help. */
  readonly help: string;
}

export interface Switch extends OptionBase {
  readonly kind: 'switch';
  /** One-letter alias. */
  readonly short?: string;
}

export interface Choice extends OptionBase {
  readonly kind: 'choice';
  readonly choices: readonly string[];
  readonly default: string;
  /** Environment variable used if the option is absent. */
  readonly environment?: string;
}

/** A text value, such as a file name. */
export interface Text extends OptionBase {
  readonly kind: 'text';
  /** Name of the value in the usage: `FILE`. */
  readonly placeholder: string;
  /** `--name` or `--name=VALUE`: without a value, the text is empty. */
  readonly optional?: true;
}

/** A repeatable option with a text value. */
export interface Texts extends OptionBase {
  readonly kind: 'texts';
  readonly placeholder: string;
}

export interface Measured extends OptionBase {
  readonly kind: Quantity;
  readonly bounds: Bounds;
  /** Milliseconds, bytes, or a count; undefined without a default. */
  readonly default: number | undefined;
}

/** A repeatable option that sets one of many quantities: `--limit maxPending=100`. */
export interface Quantities extends OptionBase {
  readonly kind: 'quantities';
  readonly placeholder: 'NAME=VALUE';
  readonly quantities: { readonly [name: string]: Measured };
}

/** An option of a command. */
export type CommandOption = Switch | Choice | Text | Texts | Measured | Quantities;

/** Options by name without dashes, in the order of the help text. */
export type OptionTable = { readonly [name: string]: CommandOption };

/**
 * Type of an option's value. An absent quantity is undefined, and its reader applies the default.
 */
export type OptionValue<O extends CommandOption> = O extends Switch
  ? boolean
  : O extends Choice
    ? O['choices'][number]
    : O extends Text
      ? string | undefined
      : O extends Texts
        ? readonly string[]
        : O extends Quantities
          ? { readonly [name: string]: number }
          : number | undefined;

/** Default in the syntax of the command line; undefined without one. */
export function defaultOf(option: CommandOption): string | undefined {
  switch (option.kind) {
    case 'switch':
    case 'text':
    case 'texts':
    case 'quantities':
      return undefined;
    case 'choice':
      return option.default;
    default:
      return option.default === undefined ? undefined : formatQuantity(option.kind, option.default);
  }
}

/** Syntax of an option: `--log-file FILE`. */
function usageOf(name: string, option: CommandOption): string {
  switch (option.kind) {
    case 'switch':
      return `--${name}`;
    case 'choice':
      return `--${name} ${option.choices.join('|')}`;
    case 'text':
      return option.optional
        ? `--${name}[=${option.placeholder}]`
        : `--${name} ${option.placeholder}`;
    case 'texts':
    case 'quantities':
      return `--${name} ${option.placeholder}`;
    default:
      return `--${name} ${placeholders[option.kind]}`;
  }
}

const placeholders: { readonly [quantity in Quantity]: string } = {
  duration: 'TIME',
  size: 'SIZE',
  count: 'N',
};

/** Formats options as help text. */
export function optionsText(table: OptionTable): string {
  const rows = Object.entries(table).map(([name, option]) => {
    const short = 'short' in option && option.short !== undefined ? `-${option.short}, ` : '';
    return `  ${short}${usageOf(name, option)}\n${wrap(description(option))}`;
  });
  return rows.join('\n');
}

/** Formats the quantities of one option as help text. */
export function quantitiesText(table: Quantities['quantities']): string {
  const rows = Object.entries(table).map(
    ([name, quantity]) =>
      `  ${name}=${placeholders[quantity.kind]}\n${wrap(description(quantity))}`,
  );
  return rows.join('\n');
}

/** Formats the quantities of one option as a Markdown table. */
export function quantitiesTable(table: Quantities['quantities']): string {
  const rows = Object.entries(table).map(
    ([name, quantity]) => `| \`${name}\` | ${defaultOf(quantity) ?? ''} | ${quantity.help} |`,
  );
  return `| limit | default | what it does |\n|---|---|---|\n${rows.join('\n')}`;
}

/** Formats options as a Markdown table. */
export function optionsTable(table: OptionTable): string {
  const rows = Object.entries(table).map(
    ([name, option]) =>
      `| \`${usageOf(name, option).replaceAll('|', '\\|')}\` | ${defaultOf(option) ?? ''} | ${option.help} |`,
  );
  return `| option | default | what it does |\n|---|---|---|\n${rows.join('\n')}\n`;
}

const width = 80;
const indent = ' '.repeat(6);

function description(option: CommandOption): string {
  const byDefault = defaultOf(option);
  return byDefault === undefined ? option.help : `${option.help} Default: ${byDefault}.`;
}

/** Wraps and indents help text. */
function wrap(text: string): string {
  const lines = text.split(' ').reduce<string[]>((done, word) => {
    const last = done.at(-1);
    if (last === undefined || last.length + 1 + word.length > width)
      return [...done, indent + word];
    return [...done.slice(0, -1), `${last} ${word}`];
  }, []);
  return lines.join('\n');
}
