/**
 * A form for a person to fill in: one shape for all notations that authors may use.
 *
 * @see MCP 2025-11-25, client/elicitation, "Requested Schema"
 */

/** The formats of a text field. */
export type TextFormat = 'email' | 'uri' | 'date' | 'date-time';

/** One of a field's choices. */
export interface Option {
  readonly value: string;
  /** Display text. Default: the value. */
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

/** A choice of one value. */
export interface ChoiceField extends Labelled {
  readonly kind: 'choice';
  /** Notation of titles: none, `oneOf`, or the older `enumNames`. */
  readonly style: 'untitled' | 'titled' | 'legacy';
  readonly options: readonly Option[];
  readonly default?: unknown;
}

/** A choice of any number of values. */
export interface ChoicesField extends Labelled {
  readonly kind: 'choices';
  readonly style: 'untitled' | 'titled';
  readonly options: readonly Option[];
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly default?: unknown;
}

/** One field of a form. */
export type FormField = TextField | NumberField | BooleanField | ChoiceField | ChoicesField;

/** A form: its fields and the names of the required ones. */
export interface FormDescription {
  /** Fields in display order. */
  readonly fields: readonly FormField[];
  /** Names of required fields. */
  readonly required: readonly string[];
}
