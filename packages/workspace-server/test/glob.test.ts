import { execFileSync } from 'node:child_process';
import { rgPath } from '@vscode/ripgrep';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ToolError } from 'mcp-actors';
import { compileGlobs, parseGlobs } from '../src/globs/glob.ts';
import { byPath } from '../src/search/path-order.ts';
import { temporaryDirectory } from '../../roots/test/temporary-directory.ts';

const compileGlob = (...globs: string[]) =>
  compileGlobs(parseGlobs(globs.map((text) => ({ text }))));

test.each([
  ['*.ts', 'a.ts', true],
  ['*.ts', 'src/deep/a.ts', true],
  ['*.ts', 'a.tsx', false],
  ['/*.ts', 'a.ts', true],
  ['/*.ts', 'src/a.ts', false],
  ['./src/*.ts', 'src/a.ts', true],
  ['src/*.ts', 'src/deep/a.ts', false],
  ['src/**/*.ts', 'src/a.ts', true],
  ['src/**/*.ts', 'src/x/y/a.ts', true],
  ['src/**/*.ts', 'lib/src/a.ts', false],
  ['**/src/*.ts', 'lib/src/a.ts', true],
  ['src/**', 'src/x/y', true],
  ['src', 'src/x/y', true],
  ['src', 'lib/src/y', true],
  ['src/', 'src/x', true],
  ['src/*', 'src/x/y', false],
  ['**', 'any/thing', true],
  ['a?c', 'abc', true],
  ['a?c', 'a/c', false],
  ['[a-c].md', 'b.md', true],
  ['[!a-c].md', 'b.md', false],
  ['[^a-c].md', 'd.md', true],
  ['[]x].md', '].md', true],
  ['*.{ts,js}', 'a.js', true],
  ['{src,test}/**/*.{ts,m{j,t}s}', 'test/x/a.mts', true],
  ['{src,test}/**/*.{ts,m{j,t}s}', 'lib/a.ts', false],
  ['\\*.ts', '*.ts', true],
  ['\\*.ts', 'a.ts', false],
  ['項*', '項目', true],
  ['?', '😀', true],
  ['A', 'a', false],
])('%j matches %j: %j', (glob, path, expected) => {
  expect(compileGlob(glob)(path)).toBe(expected);
});

test.each(['', 'a[b', 'a{b', 'a\0b', 'x'.repeat(1001), '{a,b}'.repeat(9)])(
  '%.20j is refused with a reason',
  (glob) => {
    expect(() => compileGlob(glob)).toThrow(ToolError);
  },
);

test('matching cost of many wildcards is bounded by glob length times path length', () => {
  const matches = compileGlob(`${'*a'.repeat(100)}b`);
  const deep = compileGlob(`${'**/a*/'.repeat(80)}b`);
  const path = Array.from({ length: 100 }, () => 'a'.repeat(250)).join('/');
  expect(matches(path)).toBe(false);
  expect(deep(path)).toBe(false);
});

test('globs at the size limit match a long path like a single glob', () => {
  const matches = compileGlob(...Array<string>(60).fill(`*${'a'.repeat(130)}b`));
  const path = Array<string>(16).fill('a'.repeat(255)).join('/');
  expect(matches(path)).toBe(false);
  expect(matches(`${path}b`)).toBe(true);
});

test('refuses a glob with too many alternatives before expanding them', () => {
  const error = refusal('{a,b}'.repeat(199));
  expect(error.code).toBe('INVALID_GLOB');
  expect(error.message).toContain(`${2 ** 199} alternatives; at most 256`);
});

test('applies one size limit to all globs of a call', () => {
  const written = 256 * 'abababab\n'.length;
  expect(compileGlob(...Array<string>(3).fill('{a,b}'.repeat(8)))('abbaabba')).toBe(true);
  const error = refusal(...Array<string>(64).fill('{a,b}'.repeat(8)));
  expect(error.code).toBe('INVALID_GLOB');
  expect(error.message).toContain(
    `at most 8192 characters in total after expanding braces, one per line, got ${64 * written}`,
  );
  expect(refusal(...Array<string>(65).fill('a')).message).toContain('At most 64 globs');
});

test('combined globs match if any of them matches', () => {
  const part = fc.constantFrom('*', '?', 'a', 'b', '**', '/', '[ab]', '[!a]', '{a,b/*}', 'é');
  const glob = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));
  const name = fc.string({
    unit: fc.constantFrom('a', 'b', 'é', '😀'),
    minLength: 1,
    maxLength: 3,
  });
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
  fc.assert(
    // Enough globs for their states to span several words.
    fc.property(fc.array(glob, { minLength: 1, maxLength: 24 }), path, (globs, asked) => {
      const any = globs.some((one) => compileGlob(one)(asked));
      expect(compileGlob(...globs)(asked)).toBe(any);
    }),
  );
});

test('matches correctly with more distinct characters than the cache holds', () => {
  const matches = compileGlob('?', '[!一-三]x');
  for (const code of [...Array(2000).keys()].map((index) => 0x4e00 + index)) {
    const character = String.fromCodePoint(code);
    expect(matches(character)).toBe(true);
    expect(matches(`${character}x`)).toBe(code > '三'.charCodeAt(0));
  }
  expect(matches('一')).toBe(true);
});

function refusal(...globs: string[]): ToolError {
  try {
    compileGlob(...globs);
  } catch (error) {
    if (error instanceof ToolError) return error;
    throw error;
  }
  throw new Error(`Expected a ToolError for ${globs.join(' ')}`);
}

describe('compared with ripgrep', () => {
  test('selects the same files for globs with wildcards', async () => {
    const names = [
      'a',
      'b',
      'ab',
      'a.ts',
      'b.ts',
      'x/a',
      'x/b.ts',
      'x/y/a.ts',
      'y/x/ab',
      'y/y/y/b',
      'x/a.b',
    ];
    const directory = await temporaryDirectory(
      Object.fromEntries(names.map((name) => [`${name}.f`, ''])),
    );
    // No negated class: ripgrep's matches a slash, ours does not.
    const part = fc.constantFrom('*', '?', 'a', 'b', '.ts', '[ab]', '{a,x}', '*.f');
    const segment = fc.oneof(
      fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('')),
      fc.constant('**'),
    );
    const glob = fc
      .array(segment, { maxLength: 3 })
      // In ripgrep a final `*` also matches directories; an extension restricts it to files.
      .map((segments) => [...segments, '*.f'].join('/').replaceAll('***', '*'));
    fc.assert(
      fc.property(glob, (pattern) => {
        const matches = compileGlob(pattern);
        const ours = names.map((name) => `${name}.f`).filter((name) => matches(name));
        expect(ours.toSorted()).toEqual(ripgrepFiles(directory, pattern).toSorted());
      }),
      { numRuns: 60 },
    );
  });

  function ripgrepFiles(cwd: string, glob: string): string[] {
    try {
      const args = ['--no-config', '--files', `--glob=${glob}`, './'];
      return execFileSync(rgPath, args, {
        cwd,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      })
        .split('\n')
        .filter(Boolean)
        .map((path) => path.slice(2));
    } catch {
      return [];
    }
  }
});

test('byPath orders paths like ripgrep walks them', async () => {
  const name = fc.constantFrom('a', 'B', 'a-b', 'a b', 'é', '項', 'a.x');
  const paths = await temporaryDirectory(
    Object.fromEntries(
      fc
        .sample(fc.array(name, { minLength: 1, maxLength: 4 }), { numRuns: 60, seed: 1 })
        .map((names) => [`${names.join('/')}.f`, '']),
    ),
  );
  const args = ['--no-config', '--files', '--sort=path', './'];
  const walked = execFileSync(rgPath, args, { cwd: paths, encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);
  expect(walked.toSorted(byPath)).toEqual(walked);
});
