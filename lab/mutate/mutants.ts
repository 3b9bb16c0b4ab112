/**
 * Creates small faults that tests should notice, and compiles them into a module, inactive until
 * selected.
 */
import { parseSync } from 'oxc-parser';
import { luaFaultsOf } from './lua.ts';

/** One fault. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  /** Original code and its replacement. */
  readonly what: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

/** Location of one or more faults, and the code that activates each by number. */
interface Place {
  readonly start: number;
  readonly end: number;
  /** Descriptions of the faults, mostly one or two. */
  readonly whats: readonly string[];
  /** Line offset of each fault from the start of the location. */
  readonly lines?: readonly number[];
  /** Code before and after the location. The number of the first fault is known last. */
  readonly around: (first: number) => readonly [before: string, after: string];
  /** Part of the location to replace. */
  readonly inside?: { readonly start: number; readonly end: number; readonly by: string };
}

const comparisons: { readonly [operator: string]: readonly [name: string, other: string] } = {
  '===': ['equal', '!=='],
  '!==': ['unequal', '==='],
  '<': ['less', '<='],
  '<=': ['atMost', '<'],
  '>': ['more', '>='],
  '>=': ['atLeast', '>'],
  '+': ['sum', '-'],
  '-': ['difference', '+'],
};

/** Operators that evaluate their right side lazily. */
const choices: { readonly [operator: string]: readonly [name: string, other: string] } = {
  '&&': ['and', '||'],
  '||': ['or', '&&'],
  '??': ['given', '&&'],
};

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

function childrenOf(node: Node): readonly Node[] {
  const members = Object.values(node).flatMap((value) =>
    Array.isArray(value) ? (value as unknown[]) : [value],
  );
  return members.filter(isNode);
}

/** True if it contains `await` or `yield`, so that it cannot be moved into a function. */
function isSuspending(node: Node): boolean {
  if (node.type === 'AwaitExpression' || node.type === 'YieldExpression') return true;
  if (node.type.includes('Function')) return false;
  return childrenOf(node).some(isSuspending);
}

/** Faults of a node itself, excluding its children. */
function placesOf(node: Node, source: string): readonly Place[] {
  const { type, start, end } = node;
  const text = source.slice(start, end);
  const call = (name: string, whats: readonly string[], at: Node = node): Place => ({
    start: at.start,
    end: at.end,
    whats,
    around: (first) => [`faults$.${name}(${first}, `, ')'],
  });
  const become = (...others: readonly string[]): readonly string[] =>
    others.map((other) => `${short(text)} → ${other}`);

  if (type === 'BinaryExpression' || type === 'LogicalExpression') {
    const [left, right] = [node['left'] as Node, node['right'] as Node];
    const operator = node['operator'] as string;
    const at = left.end + source.slice(left.end, right.start).indexOf(operator);
    const token = { start: at, end: at + operator.length };
    // Subtraction makes no sense for strings.
    if (operator === '+' && /['"`]/.test(text)) return [];
    const [compare, choice] = [comparisons[operator], choices[operator]];
    if (compare) {
      const [name, other] = compare;
      return [
        {
          ...call(name, [`${operator} → ${other}, ${short(text)}`]),
          inside: { ...token, by: ',' },
        },
      ];
    }
    if (choice === undefined || isSuspending(right)) return [];
    const [name, other] = choice;
    return [
      {
        ...call(name, [`${operator} → ${other}, ${short(text)}`]),
        around: (first) => [`faults$.${name}(${first}, `, '))'],
        inside: { ...token, by: ', () => (' },
      },
    ];
  }
  if (type === 'TemplateLiteral' && text.includes('redis.')) {
    const found = luaFaultsOf(source.slice(start + 1, end - 1));
    return [
      {
        ...call(
          'lua',
          found.map(({ what }) => what),
        ),
        lines: found.map(({ line }) => line),
        around: (first) => [`faults$.lua(${first}, `, `, ${JSON.stringify(found)})`],
      },
    ];
  }
  if (type === 'CallExpression' && /^luaScript\b/.test(text)) {
    return [{ ...call('script', []), around: () => ['faults$.script(', ')'] }];
  }
  if (type === 'IfStatement' || type === 'ConditionalExpression') {
    const condition = node['test'] as Node;
    const was = short(source.slice(condition.start, condition.end));
    return [call('condition', [`${was} → true`, `${was} → false`], condition)];
  }
  if (type === 'WhileStatement' || type === 'ForStatement') {
    const condition = node['test'];
    if (!isNode(condition)) return [];
    const was = short(source.slice(condition.start, condition.end));
    return [call('loop', [`${was} → false`], condition)];
  }
  if (type === 'Literal') {
    const { value } = node as unknown as { readonly value: unknown };
    if (typeof value === 'boolean') return [call('not', become(`${!value}`))];
    if (typeof value === 'number') return [call('next', become(`(${text} + 1)`))];
  }
  if (type === 'UnaryExpression' && node['operator'] === '!') {
    return [
      {
        ...call('negation', [`${short(text)} without !`]),
        inside: { start, end: start + 1, by: '' },
      },
    ];
  }
  if (type === 'MemberExpression' && (text === 'Math.min' || text === 'Math.max')) {
    const other = text === 'Math.min' ? 'Math.max' : 'Math.min';
    return [
      {
        ...call('either', become(other)),
        around: (first) => [`faults$.either(${first}, `, `, ${other})`],
      },
    ];
  }
  if (type === 'Property' && node['kind'] === 'init' && node['method'] !== true) {
    const value = node['value'] as Node;
    const isPattern = value.type.endsWith('Pattern');
    if (isPattern || value.type === 'ObjectExpression' || /Function/.test(value.type)) return [];
    const key = source.slice((node['key'] as Node).start, (node['key'] as Node).end);
    const place = call('absent', [`${short(text)} → ${key}: undefined`], value);
    if (node['shorthand'] !== true) return [place];
    return [{ ...place, around: (first) => [`${key}: faults$.absent(${first}, `, ')'] }];
  }
  if (type === 'ExpressionStatement') {
    const expression = node['expression'] as Node;
    const isEffect = /^(Call|Await|Assignment|Update|Unary)Expression$/.test(expression.type);
    if (!isEffect || text.startsWith('super')) return [];
    return [
      {
        ...call('runs', become('nothing')),
        around: (first) => [`{ if (faults$.runs(${first})) `, ' }'],
      },
    ];
  }
  return [];
}

/** Locations in line order; of two with the same start, the outer first. */
function placesIn(file: string, source: string): readonly Place[] {
  const places: Place[] = [];
  const conditions = new Set<Node>();
  const visit = (node: Node): void => {
    // Types and texts for people do not affect behaviour.
    if (node.type.startsWith('TS') && !node.type.endsWith('Expression')) return;
    if (/^(ImportDeclaration|ThrowStatement|ExportAllDeclaration)$/.test(node.type)) return;
    // A condition that is always or never true is a stronger fault than a negated one.
    const isTurned = conditions.has(node) && /^[!=]==/.test(String(node['operator']));
    if (isNode(node['test'])) conditions.add(node['test']);
    if (!isTurned) places.push(...placesOf(node, source));
    // Destructuring patterns contain names and defaults, and keys are no values.
    if (node.type === 'ObjectPattern') {
      for (const member of node['properties'] as readonly Node[]) {
        const value = member['value'];
        if (isNode(value) && value.type === 'AssignmentPattern') visit(value['right'] as Node);
      }
      return;
    }
    const key = node['computed'] === true ? undefined : node['key'];
    for (const child of childrenOf(node)) if (child !== key) visit(child);
  };
  const { program } = parseSync(file, source);
  visit(program as unknown as Node);
  return places.sort((one, other) => one.start - other.start || other.end - one.end);
}

/** Faults of a module in line order. */
export function mutantsOf(file: string, source: string): readonly Mutant[] {
  return placesIn(file, source).flatMap(({ start, whats, lines }) => {
    const line = source.slice(0, start).split('\n').length;
    return whats.map((what, at) => ({ file, line: line + (lines?.[at] ?? 0), what }));
  });
}

/** The module with all its faults inactive, numbered from `first` in the order of `mutantsOf`. */
export function withFaults(file: string, source: string, first: number): string {
  const before = new Map<number, string>();
  const after = new Map<number, string>();
  const replaced = new Map<number, { readonly end: number; readonly by: string }>();
  let number = first;
  for (const { start, end, whats, around, inside } of placesIn(file, source)) {
    const [opening, closing] = around(number);
    number += whats.length;
    before.set(start, (before.get(start) ?? '') + opening);
    after.set(end, closing + (after.get(end) ?? ''));
    if (inside) replaced.set(inside.start, inside);
  }
  let text = '';
  for (let at = 0; at <= source.length;) {
    text += (after.get(at) ?? '') + (before.get(at) ?? '');
    const by = replaced.get(at);
    if (by) text += by.by;
    else text += source[at] ?? '';
    at = by?.end ?? at + 1;
  }
  return text;
}

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > 60 ? `${line.slice(0, 57)}…` : line;
}
