import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { workspaceServer } from '../../../src/workspace/workspace-server.ts';
import { callTool, fakeContext, reportOf } from '../fake-context.ts';
import { rootAt } from '../root-at.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** Clears a screen, ends a line, turns the direction of writing, is not seen. */
const evil = 'a\u001b[2J\nb\u202ec\u200b';

/** The texts of a tool in a project whose names and scripts are evil. */
async function texts(name: string, args: object) {
  const cwd = await temporaryDirectory({
    [`${evil}.txt`]: 'needle\u001b[2J\u202e\n',
    'package.json': JSON.stringify({ scripts: { [evil]: '' } }),
  });
  const root = { ...rootAt(cwd), name: evil, uri: `${pathToFileURL(cwd).href}#${evil}` };
  const { definition } = workspaceServer({ cwd: '/', home: '/nobody', version: '1' });
  const tool = definition.tools?.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`There is no tool ${name}`);
  return await callTool(tool, args, fakeContext(reportOf([root])));
}

// Windows has no such names.
test.runIf(process.platform !== 'win32').each([
  ['workspace_info', {}],
  ['find_files', {}],
  ['search_text', { pattern: 'needle' }],
])('the text of %s shows control characters as their numbers', async (name, args) => {
  const { structured, text } = await texts(name, args);
  expect(text).toContain('a\\u001b[2J\\u000ab\\u202ec\\u200b');
  for (const character of ['\u001b', '\u202e', '\u200b']) expect(text).not.toContain(character);
  expect(JSON.stringify(structured)).toContain(JSON.stringify(evil).slice(1, -1));
});

test.runIf(process.platform !== 'win32')(
  'what read_file says of a file shows them so, and its content is the file’s own',
  async () => {
    const { text } = await texts('read_file', { path: `${evil}.txt` });
    expect(text.startsWith('needle\u001b[2J\u202e\n')).toBe(true);
    expect(text).toContain('a\\u001b[2J\\u000ab\\u202ec\\u200b');
  },
);
