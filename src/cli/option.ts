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
export function usageOf(name: string, option: Option): string {
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
