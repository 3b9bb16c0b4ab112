import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const oxlint = join(root, 'node_modules', 'oxlint', 'bin', 'oxlint');

interface Verdict {
  file: string;
  specifier: string;
}

/** Every import that has to be refused, by the file that would contain it. */
const forbidden: readonly Verdict[] = [
  { file: 'src/protocol/a.ts', specifier: '../machines/x.ts' },
  { file: 'src/protocol/revisions/a.ts', specifier: '../../server/x.ts' },
  { file: 'src/protocol/a.ts', specifier: 'xstate' },
  { file: 'src/protocol/a.ts', specifier: 'node:buffer' },
  { file: 'src/machines/a.ts', specifier: '../actors/x.ts' },
  { file: 'src/machines/a.ts', specifier: '../server/x.ts' },
  { file: 'src/machines/a.ts', specifier: 'rxjs' },
  { file: 'src/machines/a.ts', specifier: 'node:timers' },
  { file: 'src/actors/a.ts', specifier: '../server/x.ts' },
  { file: 'src/actors/a.ts', specifier: '../workspace/x.ts' },
  { file: 'src/actors/a.ts', specifier: 'node:stream' },
  { file: 'src/actors/writer.actor.ts', specifier: 'rxjs' },
  { file: 'src/actors/line-splitter.ts', specifier: 'node:buffer' },
  { file: 'src/actors/stdio.ts', specifier: '../server/x.ts' },
  { file: 'src/actors/stdio.ts', specifier: 'rxjs' },
  { file: 'src/server/a.ts', specifier: '../workspace/x.ts' },
  { file: 'src/server/a.ts', specifier: '../http/x.ts' },
  { file: 'src/server/a.ts', specifier: '../inspect/x.ts' },
  { file: 'src/server/features/a.ts', specifier: '../../client/x.ts' },
  { file: 'src/server/a.ts', specifier: 'node:fs' },
  { file: 'src/server/a.ts', specifier: 'node:fs/promises' },
  { file: 'src/server/a.ts', specifier: 'rxjs' },
  { file: 'src/server/memory.ts', specifier: 'node:stream' },
  { file: 'src/http/a.ts', specifier: '../workspace/x.ts' },
  { file: 'src/inspect/a.ts', specifier: '../client/x.ts' },
  { file: 'src/inspect/a.ts', specifier: 'rxjs' },
  { file: 'src/workspace/a.ts', specifier: '../client/x.ts' },
  { file: 'src/workspace/a.ts', specifier: '../testing/index.ts' },
  { file: 'src/workspace/tools/a.ts', specifier: '../../cli.ts' },
  { file: 'src/client/a.ts', specifier: '../workspace/x.ts' },
  { file: 'src/opentelemetry/a.ts', specifier: '../workspace/x.ts' },
  { file: 'src/opentelemetry/a.ts', specifier: '@opentelemetry/sdk-trace-base' },
  { file: 'src/opentelemetry/a.ts', specifier: 'node:async_hooks' },
  { file: 'src/server/a.ts', specifier: '../opentelemetry/x.ts' },
  { file: 'src/client/a.ts', specifier: '../opentelemetry/x.ts' },
  { file: 'src/check/a.ts', specifier: '../server/x.ts' },
  { file: 'src/check/invariants/a.ts', specifier: '../../machines/x.ts' },
  { file: 'src/check/a.ts', specifier: 'rxjs' },
  { file: 'src/server/a.ts', specifier: '../check/x.ts' },
  { file: 'src/workspace/a.ts', specifier: '../check/x.ts' },
  { file: 'src/index.ts', specifier: './opentelemetry/index.ts' },
  { file: 'src/server/a.ts', specifier: '../index.ts' },
  { file: 'src/workspace/tools/a.ts', specifier: '../../index.ts' },
  { file: 'src/testing/a.ts', specifier: '../index.ts' },
  { file: 'src/testing/a.ts', specifier: 'mcp-actors' },
  { file: 'src/cli.ts', specifier: './index.ts' },
  { file: 'src/cli.ts', specifier: './testing/index.ts' },
  { file: 'src/index.ts', specifier: './cli.ts' },
  { file: 'src/index.ts', specifier: './testing/index.ts' },
  { file: 'src/index.ts', specifier: 'node:fs' },
];

const allowed: readonly Verdict[] = [
  { file: 'src/protocol/revisions/a.ts', specifier: '../errors.ts' },
  { file: 'src/machines/a.ts', specifier: '../protocol/x.ts' },
  { file: 'src/machines/a.ts', specifier: 'xstate' },
  { file: 'src/actors/a.ts', specifier: '../machines/x.ts' },
  { file: 'src/actors/line-splitter.ts', specifier: 'rxjs' },
  { file: 'src/actors/reader.actor.ts', specifier: 'rxjs' },
  { file: 'src/actors/stdio.ts', specifier: 'node:process' },
  { file: 'src/server/a.ts', specifier: '../actors/x.ts' },
  { file: 'src/server/a.ts', specifier: 'ajv' },
  { file: 'src/server/observables.ts', specifier: 'rxjs' },
  { file: 'src/server/memory.ts', specifier: 'rxjs' },
  { file: 'src/server/stdio.ts', specifier: 'rxjs' },
  { file: 'src/workspace/a.ts', specifier: '../server/x.ts' },
  { file: 'src/workspace/a.ts', specifier: 'node:fs/promises' },
  { file: 'src/client/a.ts', specifier: 'node:child_process' },
  { file: 'src/inspect/a.ts', specifier: 'node:http' },
  { file: 'src/opentelemetry/a.ts', specifier: '../server/x.ts' },
  { file: 'src/opentelemetry/a.ts', specifier: '@opentelemetry/api' },
  { file: 'src/check/a.ts', specifier: '../protocol/x.ts' },
  { file: 'src/check/a.ts', specifier: 'node:child_process' },
  { file: 'src/check/a.ts', specifier: 'xstate/graph' },
  { file: 'src/testing/a.ts', specifier: '../workspace/x.ts' },
  { file: 'src/cli.ts', specifier: './workspace/x.ts' },
  { file: 'src/cli.ts', specifier: 'node:util' },
  { file: 'src/index.ts', specifier: './server/x.ts' },
];

function lint(cwd: string): Promise<string> {
  return new Promise((resolve) => {
    const args = [oxlint, '--format=unix', '--threads=1', '.'];
    execFile(process.execPath, args, { cwd }, (_failure, stdout) => {
      resolve(stdout);
    });
  });
}

describe('import boundaries', () => {
  let folder: string;
  let report: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'boundaries-'));
    await copyFile(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
    const sources = new Map<string, string>();
    for (const { file, specifier } of [...forbidden, ...allowed]) {
      sources.set(file, `${sources.get(file) ?? ''}import '${specifier}';\n`);
    }
    sources.set(
      'src/server/ring-a.ts',
      "import { b } from './ring-b.ts';\nexport const a = () => b;\n",
    );
    sources.set(
      'src/server/ring-b.ts',
      "import { a } from './ring-a.ts';\nexport const b = () => a;\n",
    );
    sources.set('src/server/late.ts', "export const late = import('../workspace/x.ts');\n");
    sources.set(
      'src/server/typed.ts',
      "import type { X } from '../workspace/x.ts';\nexport type { X };\n",
    );
    sources.set('src/server/handed-on.ts', "export { x } from '../workspace/x.ts';\n");
    sources.set('src/server/global.ts', 'export const pid = process.pid;\n');
    for (const [file, text] of sources) {
      const path = join(folder, file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
    report = await lint(folder);
  });

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  const isRefused = ({ file, specifier }: Verdict): boolean =>
    report
      .split('\n')
      .some(
        (line) =>
          line.startsWith(`${file}:`) &&
          line.includes(`'${specifier}'`) &&
          line.includes('no-restricted-imports'),
      );

  it.each(forbidden)('keeps $specifier out of $file', (verdict) => {
    expect(isRefused(verdict)).toBe(true);
  });

  it.each(allowed)('lets $file import $specifier', (verdict) => {
    expect(isRefused(verdict)).toBe(false);
  });

  it.each(['late', 'typed', 'handed-on'])(
    'sees dynamic imports, type imports and re-exports: %s',
    (name) => {
      const file = `src/server/${name}.ts`;
      expect(isRefused({ file, specifier: '../workspace/x.ts' })).toBe(true);
    },
  );

  it('refuses cycles', () => {
    expect(report).toMatch(/^src\/server\/ring-[ab]\.ts:.*no-cycle/m);
  });

  it("refuses Node's globals in the session core", () => {
    expect(report).toMatch(/^src\/server\/global\.ts:.*no-restricted-globals/m);
  });

  it('knows every folder of src/', async () => {
    const entries = await readdir(join(root, 'src'), { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    const covered = new Set([...forbidden, ...allowed].map(({ file }) => file.split('/')[1]));
    expect(folders.filter((name) => !covered.has(name) && name !== 'cli')).toEqual([]);
  });
});
