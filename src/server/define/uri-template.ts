/**
 * Matches URIs against templates: finds the values of the variables that expand a template to the
 * URI.
 *
 * A library parses the templates. The matching is ours, because existing libraries misread query
 * parameters or take exponential time (docs/maintaining/decisions/26-bounded-matching.md). The time of
 * this one is bounded by the length of the template times the length of the URI.
 *
 * @see RFC 6570, "URI Template"
 */
import { parse } from 'uri-template';
import { textOfError } from '../../protocol/errors.ts';

/**
 * True for an absolute URI: it has a scheme, and no character that a URI must not contain.
 * Non-ASCII characters are allowed, because many hosts do not encode them.
 *
 * @see RFC 3986
 */
export function isUri(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9+.-]*:[^\s"<>\\^`{}\p{Cc}]*$/u.test(text);
}

/**
 * The values of a template's variables in a URI. An optional variable that is absent has no entry;
 * one with `*` has a list.
 */
export type Variables = {
  /** The value of a variable, decoded. */
  readonly [name: string]: string | readonly string[];
};

/** A URI template that reads the variables back from a URI. */
export interface UriTemplate {
  /** The names of the variables, in order. */
  readonly variables: readonly string[];
  /** The values of the variables, decoded; undefined if the template cannot expand to this URI. */
  match(uri: string): Variables | undefined;
}

/**
 * The longest URI that a template matches, characters.
 *
 * @see RFC 9110, section 4.1: at least 8000 octets should be supported
 */
export const longestUri = 8192;

type Expression = Exclude<
  ReturnType<typeof parse>['ast']['parts'][number],
  { readonly type: 'literal' }
>;

interface Variable {
  readonly name: string;
  readonly isList: boolean;
}

/** Expansion style of an operator. */
interface Style {
  /** Prefix of the first value. If it is not empty, all values may be absent. */
  readonly first: string;
  readonly separator: string;
  /** True if `name=` precedes each value. */
  readonly isNamed: boolean;
  /** The characters that end a value. */
  readonly ends: string;
}

/** @see RFC 6570, appendix A */
const styles: { readonly [operator in Expression['operator']]: Style } = {
  '': { first: '', separator: ',', isNamed: false, ends: '/?#' },
  '+': { first: '', separator: ',', isNamed: false, ends: '' },
  '#': { first: '#', separator: ',', isNamed: false, ends: '' },
  '.': { first: '.', separator: '.', isNamed: false, ends: '/?#' },
  '/': { first: '/', separator: '/', isNamed: false, ends: '/?#' },
  ';': { first: ';', separator: ';', isNamed: true, ends: '/?#;' },
  '?': { first: '?', separator: '&', isNamed: true, ends: '#&' },
  '&': { first: '&', separator: '&', isNamed: true, ends: '#&' },
};

/** One step of the matching, with a number that is unique within the template. */
type MatchStep = { readonly number: number } & (
  | { readonly kind: 'end' }
  | { readonly kind: 'text'; readonly text: string; readonly next: MatchStep }
  /** The first character of a value. */
  | {
      readonly kind: 'value';
      readonly variable: Variable;
      readonly ends: string;
      readonly next: MatchStep;
    }
  /** The rest of a value, as short as possible. */
  | { readonly kind: 'rest'; readonly ends: string; readonly next: MatchStep }
  /** An empty value. */
  | { readonly kind: 'empty'; readonly variable: Variable; readonly next: MatchStep }
  /** Alternatives, the best one first. */
  | { readonly kind: 'fork'; readonly choices: readonly MatchStep[] }
);

type Unnumbered = MatchStep extends infer TStep
  ? TStep extends MatchStep
    ? Omit<TStep, 'number'>
    : never
  : never;

/** A matched value, linked to the values before it. */
interface FoundValue {
  readonly variable: Variable;
  readonly from: number;
  /** End offset; undefined until the next step begins. */
  readonly to: number | undefined;
  readonly before: FoundValue | undefined;
}

/**
 * Parses a template.
 *
 * @throws {TypeError} if the template is malformed, or contains a prefix modifier (`{name:3}`) or the
 *   same variable twice, which cannot be matched
 */
export function uriTemplate(template: string): UriTemplate {
  const { parts } = read(template);
  const variables = parts.flatMap((part) =>
    part.type === 'literal' ? [] : part.variables.map(({ name }) => name),
  );
  const twice = variables.find((name, at) => variables.indexOf(name) !== at);
  if (twice !== undefined) throw unmatchable(template, `the variable "${twice}" occurs twice`);

  let count = 0;
  const step = (unnumbered: Unnumbered): MatchStep => ({ ...unnumbered, number: count++ });
  let start = step({ kind: 'end' });
  for (const part of parts.toReversed()) {
    start =
      part.type === 'literal' ? literalOf(part.value, start, step) : stepsOf(part, start, step);
  }
  return {
    variables,
    match: (uri) => (uri.length > longestUri ? undefined : valuesOf(uri, search(uri, start))),
  };
}

/** Matches a literal in both forms: percent-encoded as in an expansion, and raw as some clients send it. */
function literalOf(
  text: string,
  next: MatchStep,
  step: (unnumbered: Unnumbered) => MatchStep,
): MatchStep {
  const plain = step({ kind: 'text', text, next });
  const encoded = text.replaceAll(/[^\0-\x7F]+/g, encodeURIComponent);
  if (encoded === text) return plain;
  return step({ kind: 'fork', choices: [step({ kind: 'text', text: encoded, next }), plain] });
}

function read(template: string): ReturnType<typeof parse>['ast'] {
  let ast: ReturnType<typeof parse>['ast'];
  try {
    ({ ast } = parse(template));
  } catch (error) {
    throw unmatchable(template, textOfError(error));
  }
  for (const part of ast.parts) {
    if (part.type === 'literal') {
      // The library's parser accepts these characters.
      const stray = /[{}\s"<>\\^`]/u.exec(part.value)?.[0];
      if (stray !== undefined)
        throw unmatchable(template, `the character ${JSON.stringify(stray)} is not allowed`);
      continue;
    }
    const cut = part.variables.find(({ modifier }) => modifier?.type === 'substr');
    if (cut) throw unmatchable(template, `the prefix modifier of "${cut.name}" is not supported`);
  }
  return ast;
}

function unmatchable(template: string, why: string): TypeError {
  return new TypeError(`The URI template ${JSON.stringify(template)} cannot be matched: ${why}`);
}

/** The steps of one expression, followed by `next`. */
function stepsOf(
  part: Expression,
  next: MatchStep,
  step: (unnumbered: Unnumbered) => MatchStep,
): MatchStep {
  const style = styles[part.operator];
  const variables = part.variables.map(({ name, modifier }) => ({
    name,
    isList: modifier?.type === 'explode',
  }));
  const isShared = variables.length > 1 || variables.some(({ isList }) => isList);
  const ends = style.ends + (isShared ? style.separator : '');

  const text = (value: string, then: MatchStep) =>
    value === '' ? then : step({ kind: 'text', text: value, next: then });
  const valueOf = (variable: Variable, then: MatchStep) =>
    step({ kind: 'value', variable, ends, next: step({ kind: 'rest', ends, next: then }) });
  const namedOf = (variable: Variable, then: MatchStep) => {
    const empty = step({ kind: 'empty', variable, next: then });
    const value = step({ kind: 'fork', choices: [valueOf(variable, then), empty] });
    // With this operator, an empty value has no equals sign.
    const choices = style.first === ';' ? [text('=', value), empty] : [text('=', value)];
    return text(variable.name, step({ kind: 'fork', choices }));
  };
  const itemOf = style.isNamed ? namedOf : valueOf;

  /** Steps for the value of a variable, or for all values of a list. */
  const occurrences = (variable: Variable, then: MatchStep): MatchStep => {
    if (!variable.isList) return itemOf(variable, then);
    const choices: MatchStep[] = [];
    const more = step({ kind: 'fork', choices });
    const item = itemOf(variable, more);
    choices.push(text(style.separator, item), then);
    return item;
  };

  if (style.first === '') {
    return variables.reduceRight(
      (then, variable, at) => text(at === 0 ? '' : style.separator, occurrences(variable, then)),
      next,
    );
  }
  // Any variable may be absent. The first present one follows the operator's prefix.
  let afterNone = next;
  let afterSome = next;
  for (const variable of variables.toReversed()) {
    const present = occurrences(variable, afterSome);
    afterNone = step({ kind: 'fork', choices: [text(style.first, present), afterNone] });
    afterSome = step({ kind: 'fork', choices: [text(style.separator, present), afterSome] });
  }
  return afterNone;
}

/**
 * Searches depth first, best choice first. Each step is tried at most once per offset, which bounds
 * the time.
 */
function search(
  uri: string,
  start: MatchStep,
): { readonly found: FoundValue | undefined } | undefined {
  const tried = new Set<number>();
  const open: {
    readonly step: MatchStep;
    readonly at: number;
    readonly found: FoundValue | undefined;
  }[] = [{ step: start, at: 0, found: undefined }];
  for (let state = open.pop(); state; state = open.pop()) {
    const { step, at, found } = state;
    const place = step.number * (longestUri + 1) + at;
    if (tried.has(place)) continue;
    tried.add(place);
    switch (step.kind) {
      case 'end':
        if (at === uri.length) return { found };
        break;
      case 'text':
        if (uri.startsWith(step.text, at)) {
          open.push({ step: step.next, at: at + step.text.length, found });
        }
        break;
      case 'value': {
        const value: FoundValue = {
          variable: step.variable,
          from: at,
          to: undefined,
          before: found,
        };
        if (goesOn(uri, at, step.ends)) open.push({ step: step.next, at: at + 1, found: value });
        break;
      }
      case 'rest':
        if (goesOn(uri, at, step.ends)) open.push({ step, at: at + 1, found });
        open.push({ step: step.next, at, found: found && { ...found, to: at } });
        break;
      case 'empty': {
        const value: FoundValue = { variable: step.variable, from: at, to: at, before: found };
        open.push({ step: step.next, at, found: value });
        break;
      }
      case 'fork':
        for (const choice of step.choices.toReversed()) open.push({ step: choice, at, found });
        break;
    }
  }
  return undefined;
}

function goesOn(uri: string, at: number, ends: string): boolean {
  return at < uri.length && !ends.includes(uri.charAt(at));
}

function valuesOf(uri: string, matched: ReturnType<typeof search>): Variables | undefined {
  if (!matched) return undefined;
  const values = new Map<string, string | string[]>();
  for (let { found } = matched; found; found = found.before) {
    const { variable, from, to } = found;
    const value = decode(uri.slice(from, to));
    if (value === undefined) return undefined;
    const others = values.get(variable.name);
    if (!variable.isList) values.set(variable.name, value);
    else values.set(variable.name, Array.isArray(others) ? [value, ...others] : [value]);
  }
  return Object.fromEntries([...values].toReversed());
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // A stray "%", or invalid UTF-8: no template expands to such a URI.
    return undefined;
  }
}
