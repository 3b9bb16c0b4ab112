/** Small faults that a test should notice, built into the text of a module, where they sleep until one is woken. */
import { parseSync } from 'oxc-parser';
import { luaFaultsOf } from './lua.ts';

/** One fault. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  /** What is there, and what is there instead. */
  readonly what: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

/** The place of some faults, and what is written there so that each can be woken by its number. */
interface Place {
  readonly start: number;
  readonly end: number;
  /** What the faults do, mostly one or two of them. */
  readonly whats: readonly string[];
  /** How many lines below its beginning each of them is. */
  readonly lines?: readonly number[];
  /** What stands before the place and after it. The number of the first fault is known last. */
  readonly around: (first: number) => readonly [before: string, after: string];
  /** A part of the place that is replaced. */
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

/** Whose right side is taken only if it is needed. */
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

/** Whether it waits or yields itself, so that it cannot stand in a function of its own. */
function isSuspending(node: Node): boolean {
  if (node.type === 'AwaitExpression' || node.type === 'YieldExpression') return true;
  if (node.type.includes('Function')) return false;
  return childrenOf(node).some(isSuspending);
}

/** The faults of a node itself, not of what is in it. */
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
    // A sum of texts has no difference.
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

/** The faults' places in the order of their lines, of two that begin together the outer first. */
function placesIn(file: string, source: string): readonly Place[] {
  const places: Place[] = [];
  const conditions = new Set<Node>();
  const visit = (node: Node): void => {
    // What is only a type, or what only a person reads, changes nothing.
    if (node.type.startsWith('TS') && !node.type.endsWith('Expression')) return;
    if (/^(ImportDeclaration|ThrowStatement|ExportAllDeclaration)$/.test(node.type)) return;
    // That a condition is always or never met is worse than that it is turned round.
    const isTurned = conditions.has(node) && /^[!=]==/.test(String(node['operator']));
    if (isNode(node['test'])) conditions.add(node['test']);
    if (!isTurned) places.push(...placesOf(node, source));
    // What is taken apart names members and defaults; and a key is no value.
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

/** Every fault of a module, in the order of its lines. */
export function mutantsOf(file: string, source: string): readonly Mutant[] {
  return placesIn(file, source).flatMap(({ start, whats, lines }) => {
    const line = source.slice(0, start).split('\n').length;
    return whats.map((what, at) => ({ file, line: line + (lines?.[at] ?? 0), what }));
  });
}

/** The module with all its faults asleep, numbered from `first` on as `mutantsOf` lists them. */
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
