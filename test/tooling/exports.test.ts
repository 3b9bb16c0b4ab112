/** A snapshot of the public API: `npx vitest run test/tooling/exports.test.ts -u` accepts a change of it. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { publicDeclarations, publicSignatures } from './declarations.ts';
import { entries } from './entries.ts';

const repository = fileURLToPath(new URL('../../', import.meta.url));
const tsc = join(repository, 'node_modules', 'typescript', 'bin', 'tsc');

describe('public exports', () => {
  it.each(entries)('of $specifier match its source', async ({ specifier, values }) => {
    const module = (await import(specifier)) as object;
    expect(Object.keys(module).sort()).toEqual(values);
  });

  it('have one meaning across entries', () => {
    const meanings = new Map<string, Set<string>>();
    for (const { name, meaning } of publicDeclarations()) {
      meanings.set(name, (meanings.get(name) ?? new Set()).add(meaning));
    }
    const ambiguous = [...meanings].filter(([, { size }]) => size > 1);
    expect(ambiguous.map(([name, places]) => [name, ...places])).toEqual([]);
  });

  it('have docstrings, including their members', () => {
    expect([...new Set(publicDeclarations().flatMap((each) => each.undocumented))]).toEqual([]);
  });

  it('are at most 300 in number', () => {
    const count = entries.flatMap(({ values, types }) => [...values, ...types]).length;
    expect(count).toBeLessThanOrEqual(300);
  });

  it('match the signature snapshot', { timeout: 120_000 }, async () => {
    const types = await mkdtemp(join(tmpdir(), 'signatures-'));
    onTestFinished(() => rm(types, { recursive: true }));
    const project = ['-p', join(repository, 'tsconfig.build.json'), '--outDir', types];
    await promisify(execFile)(process.execPath, [tsc, '--noCheck', '--checkers', '1', ...project]);
    const signatures = publicSignatures(types).join('\n');
    await expect(`${signatures}\n`).toMatchFileSnapshot('./public-api.d.ts.txt');
  });
});
