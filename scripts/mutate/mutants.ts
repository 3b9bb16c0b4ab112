/** Small faults that a test should notice, one at a time, in the text of a module. */
import { parseSync } from 'oxc-parser';

/** One fault. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  /** What was there, and what is there instead. */
  readonly what: string;
  /** The whole module with the fault. */
  readonly text: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly by: string;
}

const swapped: { readonly [operator: string]: string } = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '+': '-',
  '-': '+',
};

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

/** The faults of a node itself, not of what is in it. */
function editsOf(node: Node, source: string): readonly Edit[] {
  const { type, start, end } = node;
  const text = source.slice(start, end);
  if (type === 'BinaryExpression' || type === 'LogicalExpression') {
    const [left, right] = [node['left'] as Node, node['right'] as Node];
    const by = swapped[node['operator'] as string];
    const between = source.slice(left.end, right.start);
    const at = left.end + between.indexOf(node['operator'] as string);
    const length = (node['operator'] as string).length;
    // A sum of texts has no difference.
    const isText = /['"`]/.test(text) && node['operator'] === '+';
    return by === undefined || isText ? [] : [{ start: at, end: at + length, by }];
  }
  if (type === 'IfStatement' || type === 'ConditionalExpression') {
    const { start: from, end: to } = node['test'] as Node;
    return ['true', 'false'].map((by) => ({ start: from, end: to, by }));
  }
  if (type === 'Literal') {
    const { value } = node as unknown as { readonly value: unknown };
    if (typeof value === 'boolean') return [{ start, end, by: `${!value}` }];
    if (typeof value === 'number') return [{ start, end, by: `(${text} + 1)` }];
  }
  if (type === 'UnaryExpression' && node['operator'] === '!') {
    return [{ start, end: start + 1, by: '' }];
  }
  if (type === 'ExpressionStatement') {
    const expression = node['expression'] as Node;
    const isEffect = ['CallExpression', 'AwaitExpression', 'AssignmentExpression'];
    if (isEffect.includes(expression.type)) return [{ start, end, by: ';' }];
  }
  return [];
}

/** Every fault of a module, in the order of its lines. */
export function mutantsOf(file: string, source: string): readonly Mutant[] {
  const edits: Edit[] = [];
  const visit = (node: Node): void => {
    // What is only a type, or what only a person reads, changes nothing.
    if (node.type.startsWith('TS') && !node.type.endsWith('Expression')) return;
    if (node.type === 'ImportDeclaration' || node.type === 'ThrowStatement') return;
    edits.push(...editsOf(node, source));
    for (const value of Object.values(node)) {
      for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) {
        if (isNode(child)) visit(child);
      }
    }
  };
  const { program } = parseSync(file, source);
  visit(program as unknown as Node);
  return edits
    .sort((one, other) => one.start - other.start)
    .map(({ start, end, by }) => ({
      file,
      line: source.slice(0, start).split('\n').length,
      what: `${short(source.slice(start, end))} → ${by || 'nothing'}`,
      text: source.slice(0, start) + by + source.slice(end),
    }));
}

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > 60 ? `${line.slice(0, 57)}…` : line;
}
