/** What an option of a command is: the parser, the help text and the documentation are made from tables of these. */
import { formatQuantity } from './units.ts';
import type { Bounds, Quantity } from './units.ts';

interface Described {
  /** One or two sentences, for the help text. */
  readonly help: string;
}

export interface Switch extends Described {
  readonly kind: 'switch';
  /** One letter. */
  readonly short?: string;
}

export interface Choice extends Described {
  readonly kind: 'choice';
  readonly choices: readonly string[];
  readonly default: string;
  /** The environment variable that gives the value where the option is absent. */
  readonly environment?: string;
}

/** A text, such as a file's name. */
export interface Text extends Described {
  readonly kind: 'text';
  /** What it stands for, in the usage: `FILE`. */
  readonly placeholder: string;
  /** Whether it may be left out after the option's name: `--name` or `--name=VALUE`. Then it is an empty text. */
  readonly optional?: true;
}

/** A text that may be given more than once. */
export interface Texts extends Described {
  readonly kind: 'texts';
  readonly placeholder: string;
}

export interface Measured extends Described {
  readonly kind: Quantity;
  readonly bounds: Bounds;
  /** Milliseconds, bytes, or a number; undefined where there is none. */
  readonly default: number | undefined;
}

/** One option of a command. */
export type Option = Switch | Choice | Text | Texts | Measured;

/** A command's options, by their names without the dashes, in the order of the help text. */
export type OptionTable = { readonly [name: string]: Option };

/** What an option gives. An option that is absent gives `undefined`; whose default it is, is its reader's to know. */
export type ValueOf<O extends Option> = O extends Switch
  ? boolean
  : O extends Choice
    ? O['choices'][number]
    : O extends Text
      ? string | undefined
      : O extends Texts
        ? readonly string[]
        : number | undefined;

/** An option's default as a user would write it; undefined where there is none. */
export function defaultOf(option: Option): string | undefined {
  switch (option.kind) {
    case 'switch':
    case 'text':
    case 'texts':
      return undefined;
    case 'choice':
      return option.default;
    default:
      return option.default === undefined ? undefined : formatQuantity(option.kind, option.default);
  }
}

/** An option as a user writes it: `--log-file FILE`. */
function usageOf(name: string, option: Option): string {
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
      return `--${name} ${option.placeholder}`;
    case 'duration':
      return `--${name} TIME`;
    case 'size':
      return `--${name} SIZE`;
    case 'count':
      return `--${name} N`;
  }
}

/** A table of options as a help text has it. */
export function optionsText(table: OptionTable): string {
  const rows = Object.entries(table).map(([name, option]) => {
    const short = 'short' in option && option.short !== undefined ? `-${option.short}, ` : '';
    return `  ${short}${usageOf(name, option)}\n${wrap(description(option))}`;
  });
  return rows.join('\n');
}

/** A table of options in Markdown, for the documentation. */
export function optionsTable(table: OptionTable): string {
  const rows = Object.entries(table).map(
    ([name, option]) =>
      `| \`${usageOf(name, option).replaceAll('|', '\\|')}\` | ${defaultOf(option) ?? ''} | ${option.help} |`,
  );
  return `| option | default | what it does |\n|---|---|---|\n${rows.join('\n')}\n`;
}

const width = 80;
const indent = ' '.repeat(6);

function description(option: Option): string {
  const byDefault = defaultOf(option);
  return byDefault === undefined ? option.help : `${option.help} Default: ${byDefault}.`;
}

/** Text in lines of a help text, indented. */
export function wrap(text: string): string {
  const lines = text.split(' ').reduce<string[]>((done, word) => {
    const last = done.at(-1);
    if (last === undefined || last.length + 1 + word.length > width)
      return [...done, indent + word];
    return [...done.slice(0, -1), `${last} ${word}`];
  }, []);
  return lines.join('\n');
}
