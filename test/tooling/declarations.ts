/** The declarations of the public names, read from the sources or from the emitted `.d.ts` files. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';
import type {
  ClassElement,
  Comment,
  Declaration,
  Program,
  Statement,
  TSSignature,
} from 'oxc-parser';
import { entries } from './entries.ts';

/** What a public name means. */
export interface PublicDeclaration {
  readonly name: string;
  /** The file from the repository's root, and the name there. */
  readonly meaning: string;
  /** The name, and the members as `Name.member`, that no docstring stands above. */
  readonly undocumented: readonly string[];
}

interface Module {
  readonly path: string;
  readonly source: string;
  readonly program: Program;
  readonly comments: readonly Comment[];
}

interface Found {
  readonly module: Module;
  readonly name: string;
  /** The statement, with its `export`: a docstring stands above that. */
  readonly statement: Statement;
  readonly declaration: Declaration;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Blanks before a line of nothing else, too. */
const comment = /^[ \t]*\/\*[^]*?\*\/\r?\n|\/\*[^]*?\*\/[ \t]*/gm;
const modules = new Map<string, Module>();

function moduleAt(path: string): Module {
  const known = modules.get(path);
  if (known) return known;
  const source = readFileSync(path, 'utf8');
  const { program, comments } = parseSync(path, source);
  const read = { path, source, program, comments };
  modules.set(path, read);
  return read;
}

function namesOf(declaration: Declaration): readonly string[] {
  if (declaration.type === 'VariableDeclaration') {
    return declaration.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? id.name : []));
  }
  return 'id' in declaration && declaration.id?.type === 'Identifier' ? [declaration.id.name] : [];
}

/** Follows a name to where it is declared. @throws {Error} it is nowhere */
function find(path: string, name: string): Found {
  const module = moduleAt(path);
  for (const statement of module.program.body) {
    if (statement.type === 'ImportDeclaration') {
      for (const specifier of statement.specifiers) {
        if (specifier.local.name !== name || specifier.type !== 'ImportSpecifier') continue;
        if ('name' in specifier.imported)
          return follow(statement.source.value, specifier.imported.name);
      }
    } else if (statement.type === 'ExportNamedDeclaration') {
      const { declaration, specifiers, source } = statement;
      if (declaration && namesOf(declaration).includes(name)) {
        return { module, name, statement, declaration };
      }
      for (const { exported, local } of specifiers) {
        if (!('name' in exported) || exported.name !== name || !('name' in local)) continue;
        if (source) return follow(source.value, local.name);
        if (local.name !== name) return find(path, local.name);
      }
    } else if (namesOf(statement as Declaration).includes(name)) {
      return { module, name, statement, declaration: statement as Declaration };
    }
  }
  throw new Error(`${name} is not declared in ${path}`);

  function follow(source: string, original: string): Found {
    const target = join(dirname(path), source);
    return find(
      path.endsWith('.d.ts') ? target.replace(/(?<!\.d)\.ts$/, '.d.ts') : target,
      original,
    );
  }
}

/** Whether a docstring ends right before this place. */
function isDocumented({ source, comments }: Module, at: number): boolean {
  return comments.some(
    ({ type, value, end }) =>
      type === 'Block' && value.startsWith('*') && end <= at && source.slice(end, at).trim() === '',
  );
}

/** What a user of it sees: not what is private, and not what a base class has documented. */
function membersOf(declaration: Declaration): readonly (ClassElement | TSSignature)[] {
  if (declaration.type === 'TSInterfaceDeclaration') return declaration.body.body;
  if (declaration.type === 'TSTypeAliasDeclaration') {
    const { typeAnnotation } = declaration;
    return typeAnnotation.type === 'TSTypeLiteral' ? typeAnnotation.members : [];
  }
  if (declaration.type !== 'ClassDeclaration') return [];
  return declaration.body.body.filter((member) => {
    if (!('key' in member) || member.key.type === 'PrivateIdentifier') return false;
    if (member.accessibility === 'private' || member.accessibility === 'protected') return false;
    return !member.override && !('kind' in member && member.kind === 'constructor');
  });
}

function nameOf(member: ClassElement | TSSignature): string {
  if (!('key' in member)) return member.type === 'TSIndexSignature' ? '[…]' : '(…)';
  const { key } = member;
  if (key.type === 'Identifier') return key.name;
  return key.type === 'Literal' ? String(key.value) : '[computed]';
}

/** All public names of all entries; one that several entries have comes once for each. */
export function publicDeclarations(): readonly PublicDeclaration[] {
  return entries.flatMap(({ source, values, types }) =>
    [...values, ...types].map((name) => {
      const { module, name: local, statement, declaration } = find(join(root, source), name);
      const members = membersOf(declaration).filter(({ start }) => !isDocumented(module, start));
      return {
        name,
        meaning: `${relative(root, module.path)}#${local}`,
        undocumented: [
          ...(isDocumented(module, statement.start) ? [] : [local]),
          ...members.map((member) => `${local}.${nameOf(member)}`),
        ],
      };
    }),
  );
}

/**
 * The signature of each public name: its emitted declaration without comments.
 *
 * @param types the folder of the `.d.ts` files
 * @returns specifiers of entries, each followed by its declarations
 */
export function publicSignatures(types: string): readonly string[] {
  return entries.flatMap(({ specifier, source, values, types: named }) => [
    `// ${specifier}`,
    ...[...values, ...named].map((name) => {
      const path = join(types, source.replace(/\.ts$/, '.d.ts'));
      const { module, name: local, statement } = find(path, name);
      const text = module.source.slice(statement.start, statement.end).replaceAll(comment, '');
      return local === name ? text : `${text}\nexport { ${local} as ${name} };`;
    }),
  ]);
}
