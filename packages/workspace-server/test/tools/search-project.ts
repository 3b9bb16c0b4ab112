/** Test project for `search_text` and its parsed results. */
import { searchTextTool } from '../../src/tools/search-text.ts';
import { createWorkspace } from '../../src/project/workspace.ts';
import { callTool, fakeContext, reportOf } from '../../../roots/test/fake-context.ts';
import { readAnswer } from '../read-answer.ts';
import { rootAt } from '../../../roots/test/root-at.ts';
import { temporaryDirectory } from '../../../roots/test/temporary-directory.ts';
import type { Files } from '../../../roots/test/temporary-directory.ts';

/** Creates a project to search. */
export async function searchProject(files: Files) {
  const cwd = await temporaryDirectory(files);
  const tool = searchTextTool(createWorkspace({ cwd: '/', home: '/nobody' }));
  const context = fakeContext(reportOf([rootAt(cwd)]));
  const search = async (args: object) => readAnswer((await callTool(tool, args, context)).text);
  return { cwd, tool, context, search };
}

/** Returns `path:line` for each result line, or the lines themselves in other modes. */
export async function found(call: Promise<ReturnType<typeof readAnswer>>): Promise<string[]> {
  return placesOf((await call).lines);
}

export function placesOf(lines: readonly string[]): string[] {
  const places: string[] = [];
  let path = '';
  for (const line of lines) {
    const [, number] = /^(\d+)[:-] /.exec(line) ?? [];
    if (number !== undefined) places.push(`${path}:${number}`);
    else if (line !== '' && line !== '--') path = line;
  }
  return places;
}
