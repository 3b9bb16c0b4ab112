/** docs/errors.md lists exactly the codes of the sources. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ErrorCode } from 'mcp-actors';
import { describe, expect, test } from 'vitest';
import { libraryFolders } from '../tooling/layers.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const page = read('docs/errors.md');

const sourcesBelow = (folder: string): string =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => read(join(folder, name)))
    .join('\n');

/** The first cells of the table under this heading. */
function listed(heading: string): readonly string[] {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^\| `([^`]+)` /gm)].map(([, code = '']) => code).sort();
}

/** Texts in capitals in the first group of the pattern's matches, except those only compared. */
function codesIn(source: string, pattern: RegExp): readonly string[] {
  const found = [...source.matchAll(pattern)].flatMap(([, part = '']) =>
    [...part.matchAll(/(?<!=== )'([A-Z][A-Z_]+)'/g)].map(([, code = '']) => code),
  );
  return [...new Set(found)].sort();
}

const workspaceSources = (): string =>
  sourcesBelow('packages/workspace-server/src') + sourcesBelow('packages/roots/src');

describe('the page on errors lists', () => {
  test('every wire code', () => {
    expect(listed('On the wire')).toEqual(Object.values(ErrorCode).map(String).sort());
  });

  test('every refusal reason', () => {
    const reasons = [
      ...libraryFolders
        .map(sourcesBelow)
        .join('\n')
        .matchAll(/\breason: '([a-z-]+)', retryable/g),
    ];
    expect(reasons.length).toBeGreaterThan(4);
    for (const [, reason] of reasons) expect(page).toContain(`\`${reason}\``);
  });

  test('every RuntimeError code', () => {
    const codes = codesIn(read('src/protocol/errors.ts'), /type RuntimeErrorCode =([^;]*);/g);
    expect(listed('`RuntimeError` codes')).toEqual(codes);
  });

  test('every tool error code of the workspace server', () => {
    const codes = codesIn(
      workspaceSources(),
      /new ToolError\((?:(?!new ToolError)[^])*?\bcode:([^,}]*)/g,
    );
    // Codes of reading `.git`, whose messages describe the problem.
    const internal = ['NOT_A_REPOSITORY'];
    // Codes that `mcp-actors/roots` adds for custom servers.
    const ofOtherServers = ['NO_PRIMARY_ROOT', 'NO_ROOTS', 'TOO_LARGE'];
    expect(listed('Tool errors of the workspace server')).toEqual(
      codes.filter((code) => ![...internal, ...ofOtherServers].includes(code)),
    );
  });

  test('every code of an unusable root', () => {
    const codes = codesIn(
      read('src/protocol/roots.ts') + workspaceSources(),
      /type (?:RootProblemCode|DirectoryProblemCode) =([^;]*);/g,
    );
    const given = codesIn(workspaceSources(), /problem: \{ code:([^,]*),/g);
    expect(listed('Why a root cannot be used')).toEqual([...new Set([...codes, ...given])].sort());
  });
});
