/** What is bundled of others stands in the notices with the text of its licence, as those licences ask. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const repository = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(path, 'utf8');
const nameIn = (path: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? '';

/** A part of the official SDK that is not published by itself. */
const unpublished = '@modelcontextprotocol/core-internal';

describe.each([
  { folder: 'dist', least: 5, inOthers: ['pct-encode'] },
  { folder: 'packages/cli/dist', least: 10, inOthers: ['content-type'] },
])('$folder', ({ folder, least, inOthers }) => {
  const dist = join(repository, folder);

  /** The packages whose files the source maps of what is built name, those that others have bundled into theirs included. */
  const bundled = new Set(
    readdirSync(dist, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.js.map'))
      .flatMap((name) => {
        const map = JSON.parse(read(join(dist, name))) as { readonly sources: readonly string[] };
        return map.sources;
      })
      .filter((source) => source.includes('node_modules/'))
      .map((source) => nameIn(source.split('node_modules/').at(-1) ?? ''))
      .filter((name) => name !== unpublished),
  );

  const sections = new Map(
    read(join(dist, 'THIRD-PARTY-NOTICES.txt'))
      .replace(/^Parts of .*\n\n/, '')
      .split(`\n${'-'.repeat(80)}\n\n`)
      .map((section) => [section.split(' ')[0] ?? '', section] as const),
  );

  test('every bundled package has a license notice', () => {
    expect(bundled.size).toBeGreaterThan(least);
    expect([...bundled].filter((name) => !sections.has(name))).toEqual([]);
  });

  test('code bundled inside a package has a license notice', () => {
    expect([...sections.keys()]).toEqual(expect.arrayContaining(inOthers));
  });

  test.each([...sections])('the notice of %s contains its license text', (_name, section) => {
    const [, ...lines] = section.split('\n');
    expect(lines.join('\n')).toMatch(
      /permission to use, copy|Permission is hereby granted|Redistribution and use|Apache License|Permission to use, copy/,
    );
    expect(section).toMatch(/Copyright|Apache License/);
  });
});
