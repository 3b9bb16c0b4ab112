import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import {
  handshakeVersions,
  negotiateDialect,
  statelessDialect,
  statelessVersions,
} from '../../src/protocol/dialects/registry.ts';
import { importsOfLibrary, libraryFolders } from './layers.ts';

const allVersions = [...statelessVersions, ...handshakeVersions];

const root = fileURLToPath(new URL('../../', import.meta.url));

/** What asks which revision it has: a version as a literal, or a comparison of a dialect. */
function askedIn(source: string): readonly string[] {
  const code = source.replaceAll(/\/\*[^]*?\*\/|(?<=\s|^)\/\/.*$/gm, '');
  const versions = allVersions.join('|');
  return [
    ...code.matchAll(new RegExp(`(['"\`])(?:${versions})\\1`, 'g')),
    ...code.matchAll(/dialect(?:\.version)?\)?\s*(?:[!=]==?|[<>])|[!=]==?\s*[\w.]*dialect\b/gi),
    ...code.matchAll(/instanceof\s+Dialect|switch\s*\([^)]*dialect/gi),
  ].map(([found]) => found);
}

describe('checks of the protocol revision', () => {
  const files = libraryFolders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
        join(folder, file),
      ),
    )
    .filter((file) => file.endsWith('.ts') && !file.startsWith(join('src/protocol/dialects/')));

  test.each([
    ["if (revision === '2025-11-25') {}"],
    ["version >= '2025-06-18'"],
    ['if (client.dialect.version === other) {}'],
    ['if (latestHandshake !== dialect) {}'],
    ['switch (client.dialect.version) {}'],
    ['dialect instanceof Dialect20251125'],
  ])('are detected: %s', (source) => {
    expect(askedIn(source)).not.toEqual([]);
  });

  test.each([
    ["'a date such as 2025-11-25'"],
    ["/** @see MCP '2025-11-25' */"],
    ["x(); // '2025-11-25'"],
    ['dialect.tool(tool)'],
    ['revision: client.dialect.version,'],
  ])('are not reported for: %s', (source) => {
    expect(askedIn(source)).toEqual([]);
  });

  test('occur only in the dialects', () => {
    expect(files.length).toBeGreaterThan(200);
    const asked = files.flatMap((file) =>
      askedIn(readFileSync(join(root, file), 'utf8')).map((found) => `${file}: ${found}`),
    );
    expect(asked).toEqual([]);
  });

  test('are not bypassed: only the registry imports dialect modules', () => {
    const dated = /^protocol\/dialects\/\d/;
    const known = importsOfLibrary().filter(({ from, to }) => dated.test(to) && !dated.test(from));
    expect([...new Set(known.map(({ from }) => from))]).toEqual(['protocol/dialects/registry.ts']);
  });

  test.each(allVersions)(
    'are not flags: the dialect %s has only its version and projections',
    (version) => {
      const dialect = statelessDialect(version) ?? negotiateDialect(version);
      const members: (readonly [string, string])[] = [];
      for (
        let at: object = dialect;
        at !== Object.prototype;
        at = Object.getPrototypeOf(at) as object
      ) {
        for (const name of Object.getOwnPropertyNames(at)) {
          members.push([name, typeof dialect[name as keyof typeof dialect]]);
        }
      }
      const others = members.filter(([, type]) => type !== 'function');
      expect(others).toEqual([['version', 'string']]);
    },
  );
});
