/**
 * Finds the phases that are kept in fields: what may be changed, has one of several literals as its type, or one of
 * several objects that a literal member tells apart, and is compared with one of them in the file that declares it.
 */
import { dirname, join } from 'node:path/posix';
import type { Node, TSType, TSTypeLiteral, TSInterfaceBody } from 'oxc-parser';
import { readSources } from './sources.ts';
import type { Source } from './sources.ts';

export interface Phase {
  /** `PATH NAME`, the path from the repository's root. */
  readonly field: string;
  readonly values: readonly string[];
}

interface Scope {
  readonly source: Source;
  /** Aliases and interfaces that the file declares. */
  readonly types: ReadonlyMap<string, TSType | TSInterfaceBody>;
  /** Local name → the file it is imported from, and its name there. */
  readonly imports: ReadonlyMap<string, readonly [path: string, name: string]>;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}

function childrenOf(node: Node): Node[] {
  return Object.values(node).flat().filter(isNode);
}

function* nodesIn(node: Node): Generator<Node> {
  yield node;
  for (const child of childrenOf(node)) yield* nodesIn(child);
}

function scopeOf(source: Source): Scope {
  const types = new Map<string, TSType | TSInterfaceBody>();
  const imports = new Map<string, readonly [string, string]>();
  for (const statement of source.program.body) {
    const declaration =
      statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (declaration?.type === 'TSTypeAliasDeclaration') {
      types.set(declaration.id.name, declaration.typeAnnotation);
    } else if (declaration?.type === 'TSInterfaceDeclaration') {
      types.set(declaration.id.name, declaration.body);
    } else if (statement.type === 'ImportDeclaration') {
      for (const specifier of statement.specifiers) {
        if (specifier.type !== 'ImportSpecifier' || specifier.imported.type !== 'Identifier') {
          continue;
        }
        const path = join(dirname(source.path), statement.source.value);
        imports.set(specifier.local.name, [path, specifier.imported.name]);
      }
    }
  }
  return { source, types, imports };
}

/** The members of an object type that have a literal as their type, as `name: 'value'`. */
function discriminants(type: TSTypeLiteral | TSInterfaceBody): string[] {
  const members = type.type === 'TSTypeLiteral' ? type.members : type.body;
  return members.flatMap((member) => {
    if (member.type !== 'TSPropertySignature' || member.key.type !== 'Identifier') return [];
    const of = member.typeAnnotation?.typeAnnotation;
    return of?.type === 'TSLiteralType' && of.literal.type === 'Literal'
      ? [String(of.literal.value)]
      : [];
  });
}

/** The literals that a value of the type may be, or be told by. Other members of the union, such as `undefined`, give none. */
function literalsOf(scopes: ReadonlyMap<string, Scope>, scope: Scope, type: Node): string[] {
  switch (type.type) {
    case 'TSLiteralType':
      return type.literal.type === 'Literal' && typeof type.literal.value === 'string'
        ? [type.literal.value]
        : [];
    case 'TSParenthesizedType':
      return literalsOf(scopes, scope, type.typeAnnotation);
    case 'TSUnionType':
      return type.types.flatMap((member) => literalsOf(scopes, scope, member));
    case 'TSTypeLiteral':
    case 'TSInterfaceBody':
      return discriminants(type).slice(0, 1);
    case 'TSTypeReference': {
      if (type.typeName.type !== 'Identifier') return [];
      const { name } = type.typeName;
      const here = scope.types.get(name);
      if (here) return literalsOf(scopes, scope, here);
      const [path, imported] = scope.imports.get(name) ?? [];
      const there = path === undefined ? undefined : scopes.get(path);
      const declared = imported === undefined ? undefined : there?.types.get(imported);
      return there && declared ? literalsOf(scopes, there, declared) : [];
    }
    default:
      return [];
  }
}

/** What may be changed: fields and members that are not `readonly`, and variables. */
function* changeable(source: Source): Generator<readonly [name: string, type: TSType]> {
  for (const node of nodesIn(source.program)) {
    if (node.type === 'PropertyDefinition' || node.type === 'TSPropertySignature') {
      const { key, readonly, typeAnnotation } = node;
      if (readonly || !typeAnnotation) continue;
      if (key.type === 'PrivateIdentifier') yield [`#${key.name}`, typeAnnotation.typeAnnotation];
      if (key.type === 'Identifier') yield [key.name, typeAnnotation.typeAnnotation];
    } else if (node.type === 'VariableDeclaration' && node.kind === 'let') {
      for (const { id } of node.declarations) {
        if (id.type === 'Identifier' && id.typeAnnotation) {
          yield [id.name, id.typeAnnotation.typeAnnotation];
        }
      }
    }
  }
}

/** The names in an expression such as `this.#phase.kind`, without `this`. */
function namesIn(expression: Node): string[] {
  if (expression.type === 'Identifier') return [expression.name];
  if (expression.type === 'ChainExpression') return namesIn(expression.expression);
  if (expression.type !== 'MemberExpression') return [];
  const { object, property } = expression;
  const name =
    property.type === 'PrivateIdentifier'
      ? `#${property.name}`
      : property.type === 'Identifier'
        ? property.name
        : '';
  return [...namesIn(object), name];
}

/** The names of what is compared with one of several literals somewhere in a file. */
function comparedIn(source: Source): ReadonlySet<string> {
  const compared = new Set<string>();
  const isString = (node: Node): boolean =>
    node.type === 'Literal' && typeof node.value === 'string';
  for (const node of nodesIn(source.program)) {
    if (node.type === 'BinaryExpression' && /^[=!]==$/.test(node.operator)) {
      const { left, right } = node;
      if (isString(right)) for (const name of namesIn(left)) compared.add(name);
      if (isString(left)) for (const name of namesIn(right)) compared.add(name);
    } else if (node.type === 'SwitchStatement') {
      for (const name of namesIn(node.discriminant)) compared.add(name);
    }
  }
  return compared;
}

/** The phases outside of machines, sorted. */
export function phasesInFields(sources: readonly Source[] = readSources()): Phase[] {
  const scopes = new Map(sources.map((source) => [source.path, scopeOf(source)]));
  const phases = new Map<string, Phase>();
  for (const scope of scopes.values()) {
    const { source } = scope;
    if (source.path.endsWith('.machine.ts')) continue;
    const compared = comparedIn(source);
    for (const [name, type] of changeable(source)) {
      const values = [...new Set(literalsOf(scopes, scope, type))];
      if (values.length < 2 || !compared.has(name)) continue;
      const field = `${source.path} ${name}`;
      phases.set(field, { field, values });
    }
  }
  return [...phases.values()].sort((a, b) => (a.field < b.field ? -1 : 1));
}
