import { expect, test } from 'vitest';
import { readSources } from './sources.ts';

/** What each command's module exports under the same name, because the table of commands reads it. */
const convention = new Set(['command']);

test('an exported name is declared in one file only', () => {
  const places = new Map<string, Set<string>>();
  for (const { path, program } of readSources()) {
    for (const statement of program.body) {
      if (statement.type !== 'ExportNamedDeclaration' || !statement.declaration) continue;
      const { declaration } = statement;
      const names =
        declaration.type === 'VariableDeclaration'
          ? declaration.declarations.map(({ id }) => id)
          : 'id' in declaration
            ? [declaration.id]
            : [];
      for (const id of names) {
        if (id?.type !== 'Identifier' || convention.has(id.name)) continue;
        const known = places.get(id.name);
        if (known) known.add(path);
        else places.set(id.name, new Set([path]));
      }
    }
  }
  const repeated = [...places]
    .filter(([, paths]) => paths.size > 1)
    .map(([name, paths]) => `${name}: ${[...paths].join(', ')}`);
  expect(repeated).toEqual([]);
});
