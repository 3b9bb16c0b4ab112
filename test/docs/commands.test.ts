/** Runs the commands shown on pages and compares their output. */
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readClientOptions } from '../../lab/bench/client/client-bench.ts';
import { readOptions } from '../../lab/bench/options.ts';
import manifest from '../../package.json' with { type: 'json' };
import { blocksOf, inlineCode, pages, repository } from './pages.ts';
import { scenes } from './scenes.ts';
import { Stage } from './stage.ts';

/** Command lines of a block. */
const linesOf = (text: string): readonly string[] =>
  text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));

/** Commands in prose that only print and have no placeholders. */
const prints = /^mcp-actors (config|diagram|help|version|--help|--version)\b[^…[|A-Z]*$/;

interface Shown {
  readonly page: string;
  readonly lines: readonly string[];
  /** Expected output by command. */
  readonly printed: readonly (readonly [command: string, text: string])[];
}

const shown: readonly Shown[] = pages
  .map((page) => {
    const blocks = blocksOf(page);
    const run = blocks.filter(({ language, marker }) => language === 'sh' && marker === '');
    return {
      page,
      lines: [
        ...run.flatMap(({ text }) => linesOf(text)),
        ...inlineCode(page).filter((code) => prints.test(code)),
      ],
      printed: blocks.flatMap(({ marker, text }) => {
        const command = /^printed by: (.*)$/.exec(marker)?.[1];
        return command === undefined ? [] : [[command, text] as const];
      }),
    };
  })
  .filter(({ lines, printed }) => lines.length + printed.length > 0);

describe('the commands of', () => {
  test.concurrent.each(shown)('$page work as described', { timeout: 300_000 }, async (each) => {
    const stage = await Stage.open((await scenes[each.page]?.()) ?? {});
    try {
      for (const line of each.lines) {
        const outcome = await stage.run(line);
        const isExpected = stage.exitsOf(line).includes(outcome.code ?? -1);
        if (!isExpected) throw new Error(`${line}\n${JSON.stringify(outcome, undefined, 2)}`);
      }
      for (const [command, text] of each.printed) {
        const { stdout, stderr } = await stage.run(command);
        expect(comparable(stdout + stderr, stage.folder)).toContain(comparable(text, stage.folder));
      }
    } finally {
      await stage.close();
    }
  });
});

/**
 * Removes what differs from run to run: times of day, ports, tokens, the folder, the columns of a
 * stack.
 */
function comparable(text: string, folder: string): string {
  return text
    .replaceAll(/\d\d:\d\d:\d\d\.\d{3}/g, '00:00:00.000')
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+\/[\w…-]+\//g, 'http://127.0.0.1:0/…/')
    .replaceAll(`file://${folder}`, 'file:///srv/notes')
    .replaceAll(/:\d+:\d+\)/g, ':0:0)');
}

/** The names that a command lists without arguments. */
function namesListedBy(path: string): readonly string[] {
  const args = ['--import', 'tsx', path];
  const text = execFileSync(process.execPath, args, { cwd: repository, encoding: 'utf8' });
  return [...text.matchAll(/^ {2}([\w-]+) {2,}/gm)].map(([, name = '']) => name);
}

test('exist for every npm command in pages, workflows and CI', () => {
  const shown = pages.flatMap((page) => [
    ...blocksOf(page).map(({ text }) => text),
    ...inlineCode(page),
  ]);
  const run = ['.github/workflows', '.ci'].flatMap((folder) =>
    readdirSync(join(repository, folder)).map((name) =>
      readFileSync(join(repository, folder, name), 'utf8'),
    ),
  );
  const asked = [...shown, ...run].flatMap((text) => [
    ...text.matchAll(/\bnpm run (?:--silent )?([\w:]+)(?: -- ([a-z][\w-]*))?/g),
  ]);
  const names = [...new Set(asked.map(([, name = '']) => name))];
  expect(names).toContain('lab');
  expect(names.filter((name) => !(name in manifest.scripts))).toEqual([]);
  for (const [script, path] of [
    ['lab', 'lab/main.ts'],
    ['release', 'scripts/release.ts'],
  ] as const) {
    const listed = namesListedBy(path);
    const given = asked.flatMap(([, name, first]) => (name === script && first ? [first] : []));
    expect(given.length).toBeGreaterThan(5);
    expect(given.filter((name) => !listed.includes(name))).toEqual([]);
  }
});

test('are at most 14 scripts in the root', () => {
  expect(Object.keys(manifest.scripts).length).toBeLessThanOrEqual(14);
});

test('accept the benchmark options given on a page', () => {
  const lines = pages
    .flatMap((page) => blocksOf(page))
    .flatMap(({ text }) => [...text.matchAll(/^npm run lab -- bench (-[^#\n]*)/gm)]);
  expect(lines.length).toBeGreaterThan(3);
  for (const [, line = ''] of lines) {
    const args = line.trim().split(' ');
    const rest = args.filter((arg) => arg !== '--client');
    const read = args.includes('--client') ? readClientOptions : readOptions;
    expect(read(rest)).toBeTruthy();
  }
});
