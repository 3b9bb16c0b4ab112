/** Default results of tools stay below the length at which hosts truncate them. */
import { expect, test } from 'vitest';
import { workspaceServer } from '../src/workspace-server.ts';
import { callTool, fakeContext } from '../../roots/test/fake-context.ts';
import { temporaryDirectory, writeAlike } from '../../roots/test/temporary-directory.ts';

const maxCharacters = 40_000;

/** A line of ordinary source code, a tenth of which needs escaping in JSON. */
const line = `  const needle = { "name": 'value', path: "C:\\\\directory" };\n`;
const longLine = `${line.repeat(40).replaceAll('\n', ' ')}\n`;

/**
 * Large amounts of everything listed: long paths, many files, many matches, long lines, many
 * scripts.
 */
const names = Array.from(
  { length: 900 },
  (_, at) =>
    `${'directory-'.repeat(4)}${at % 30}/${'package-'.repeat(8)}${at % 7}/${'file-'.repeat(8)}${at}.ts`,
);
const files = Object.fromEntries([
  ...Array.from({ length: 3 }, (_, at) => [`large-${at}.ts`, line.repeat(3000)]),
  ['minified.js', longLine.repeat(500).replaceAll('\n', ' ')],
  [
    'package.json',
    JSON.stringify({
      scripts: Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`script-${at}`, line])),
    }),
  ],
]) as Record<string, string>;

const calls: Readonly<Record<string, readonly object[]>> = {
  workspace_info: [{}],
  list_directory: [{}, { depth: 10 }, { depth: 10, limit: 1000 }],
  find_files: [{}, { globs: ['**/'] }, { limit: 2000 }],
  search_text: [
    { pattern: 'needle' },
    { pattern: 'sparse', contextLines: 10 },
    { pattern: 'needle', limit: 1000 },
    { pattern: '.', regex: true },
    { pattern: 'needle', mode: 'files' },
    { pattern: 'needle', mode: 'count' },
    { pattern: 'needle', mode: 'files', limit: 1000 },
    { pattern: 'needle', mode: 'count', limit: 1000 },
  ],
  read_file: [
    { path: 'large-0.ts' },
    { path: 'large-0.ts', lineNumbers: true },
    { path: 'large-0.ts', tail: 10_000 },
    { path: 'minified.js' },
    { paths: ['large-0.ts', 'large-1.ts', 'minified.js', 'large-2.ts', 'gone.ts'] },
  ],
};

test('default results have fewer than 40,000 characters, as text and as JSON', async () => {
  const cwd = await temporaryDirectory(files);
  await writeAlike(cwd, names, `${line.repeat(20)}sparse\n${line.repeat(20)}${longLine}`);
  const { definition } = workspaceServer({
    ...{ directories: [cwd], cwd, home: '/nobody', version: '1' },
  });
  const tools = definition.tools ?? [];
  expect(Object.keys(calls)).toEqual(expect.arrayContaining(tools.map(({ name }) => name)));
  for (const tool of tools) {
    for (const args of calls[tool.name] ?? []) {
      const given = `${tool.name} ${JSON.stringify(args)}`;
      const { text, structured } = await callTool(tool, args, fakeContext());
      expect(text.length, given).toBeGreaterThan(0);
      expect(text.length, given).toBeLessThan(maxCharacters);
      expect(JSON.stringify(text).length, given).toBeLessThan(maxCharacters);
      expect(JSON.stringify(structured ?? {}).length, given).toBeLessThan(maxCharacters);
    }
  }
});
