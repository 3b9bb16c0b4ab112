/**
 * A form that a person is asked to fill in, brought into one shape whichever way its author wrote it.
 *
 * @see MCP 2025-11-25, client/elicitation, "Requested Schema"
 */

/** The formats that a text may be asked for in. */
export type TextFormat = 'email' | 'uri' | 'date' | 'date-time';

/** One of the values to choose from. */
export interface Option {
  readonly value: string;
  /** What a person reads instead of the value. */
  readonly title?: string | undefined;
}

interface Labelled {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
}

export interface TextField extends Labelled {
  readonly kind: 'text';
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly pattern?: string | undefined;
  readonly format?: TextFormat | undefined;
  readonly default?: unknown;
}

export interface NumberField extends Labelled {
  readonly kind: 'number' | 'integer';
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly default?: unknown;
}

export interface BooleanField extends Labelled {
  readonly kind: 'boolean';
  readonly default?: unknown;
}

/** One value of some. */
export interface ChoiceField extends Labelled {
  readonly kind: 'choice';
  /** How the titles are written: not at all, as `oneOf`, or as the older `enumNames`. */
  readonly style: 'untitled' | 'titled' | 'legacy';
  readonly options: readonly Option[];
  readonly default?: unknown;
}

/** Any number of values of some. */
export interface ChoicesField extends Labelled {
  readonly kind: 'choices';
  readonly style: 'untitled' | 'titled';
  readonly options: readonly Option[];
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly default?: unknown;
}

export type FormField = TextField | NumberField | BooleanField | ChoiceField | ChoicesField;

/** A form's fields, in order, and the names of those that must be filled in. */
export interface FormDescription {
  readonly fields: readonly FormField[];
  readonly required: readonly string[];
}
