/**
 * Names that would move the cursor, start a line or hide text never appear unescaped in a tool's
 * text.
 */
import { describe, expect, test } from 'vitest';
import { findFilesTool } from '../../src/tools/find-files.ts';
import { listDirectoryTool } from '../../src/tools/list-directory.ts';
import { readFileTool } from '../../src/tools/read-file.ts';
import { searchTextTool } from '../../src/tools/search-text.ts';
import { workspaceInfoTool } from '../../src/tools/workspace-info.ts';
import { createWorkspace } from '../../src/project/workspace.ts';
import type { Workspace } from '../../src/project/workspace.ts';
import type { Tool } from 'mcp-actors';
import { callTool, fakeContext, reportOf, toolError } from '../../../roots/test/fake-context.ts';
import { readAnswer } from '../read-answer.ts';
import { rootAt } from '../../../roots/test/root-at.ts';
import { temporaryDirectory } from '../../../roots/test/temporary-directory.ts';

const hostile = 'a\u001b[2J\nProject: forged\u009b\u202e\u200b';
const shownAs = String.raw`a\u001b[2J\u000aProject: forged\u009b\u202e\u200b`;
/** Line feeds end our own lines; tabs and joiners are harmless. */
const harmful = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

async function project() {
  const base = await temporaryDirectory({
    [`${hostile}/${hostile}.txt`]: 'needle \u001b[31m\n',
    [`${hostile}/package.json`]: JSON.stringify({ scripts: { [hostile]: hostile } }),
    // Branch names may contain direction marks but no control characters.
    [`${hostile}/.git/HEAD`]: 'ref: refs/heads/main\u202e\u200b\n',
    [`${hostile}/composer.json`]: `{"\u001b[2J`,
  });
  const root = rootAt(`${base}/${hostile}`, hostile);
  const workspace = createWorkspace({ cwd: '/', home: '/nobody' });
  const context = fakeContext(reportOf([root]));
  const call = async (tool: (of: Workspace) => Tool, args: object = {}) =>
    await callTool(tool(workspace), args, context);
  return { call, context };
}

describe('escapes hostile names in the text of', () => {
  test('workspace_info', async () => {
    const { call } = await project();
    const { text, structured } = await call(workspaceInfoTool);
    expect(text).not.toMatch(harmful);
    expect(text.match(/^Project: /gm)).toHaveLength(1);
    expect(text).toContain(`package.json (npm run): ${shownAs}\n`);
    expect(text).toContain(String.raw`Git: main\u202e\u200b`);
    // Structured content keeps the original name.
    expect(structured).toMatchObject({
      git: { branch: 'main\u202e\u200b' },
      scripts: [{ names: [hostile] }, { file: 'composer.json' }],
    });
  });

  test('find_files', async () => {
    const { call } = await project();
    const { text } = await call(findFilesTool);
    expect(text).not.toMatch(harmful);
    expect(readAnswer(text).lines).toEqual([`${shownAs}.txt`, 'composer.json', 'package.json']);
    expect((await call(findFilesTool, { globs: ['nothing'] })).text).not.toMatch(harmful);
  });

  test('list_directory', async () => {
    const { call } = await project();
    const { text } = await call(listDirectoryTool);
    expect(text).not.toMatch(harmful);
    expect(readAnswer(text).lines).toContain(`${shownAs}.txt 13 B`);
  });

  test('search_text, including its progress', async () => {
    const { call, context } = await project();
    const { text } = await call(searchTextTool, { pattern: 'needle' });
    expect(text).not.toMatch(harmful);
    expect(readAnswer(text).lines).toEqual([
      `${shownAs}.txt`,
      `1: needle ${String.raw`\u001b[31m`}`,
    ]);
    expect(context.reported.length).toBeGreaterThan(0);
    for (const { message } of context.reported) expect(message).not.toMatch(harmful);
  });

  test('read_file, outside the file content', async () => {
    const { call } = await project();
    const { text } = await call(readFileTool, { path: `${hostile}.txt` });
    const [heading, content] = text.split('\n\n');
    expect(content).toBe('needle \u001b[31m\n');
    expect(heading).not.toMatch(harmful);
    expect(heading).toBe(`${shownAs}.txt: 1 line, 13 bytes`);
  });

  test('errors', async () => {
    const { call } = await project();
    for (const args of [
      { path: `../${hostile}.md` },
      { path: `${hostile}.md` },
      { path: 'x', root: hostile.slice(1) },
    ]) {
      expect((await toolError(call(readFileTool, args))).message).not.toMatch(harmful);
    }
  });
});
