/** The skills that lie in the project, for hosts that know skills. */
import type { HandlerContext, RootsReport, SkillFinder } from 'mcp-actors';
import { SkillDirectory } from 'mcp-actors/skills';
import type { UsableRoot } from './project.ts';
import type { Workspace } from './workspace.ts';

/** Where projects keep skills. Of two with one name the first counts: many a project links one directory to the other. */
const directories = ['.agents/skills', '.claude/skills'] as const;

/** Finds the skills of the project that a session works in, inside its root. Those that cannot be served are left out. */
export function projectSkills(workspace: Workspace): SkillFinder {
  const looking = directories.map((path) => {
    const directory = new SkillDirectory({ onProblem: () => {} });
    return { path, directory };
  });
  return async (context) => {
    const root = await rootFor(context, workspace);
    if (!root) return [];
    const boundary = { directories: [root], base: root };
    const found = looking.map(({ path, directory }) => directory.skills(boundary, path));
    return (await Promise.all(found)).flat();
  };
}

/** Stands for roots that are not asked for. */
const notAsked: RootsReport = { status: 'undeclared', generation: 0, settled: true, roots: [] };

/**
 * The root of the project. Since 2026-07-28 a list asks its client nothing, and what is listed has to be what is read: so
 * there only a directory counts that the user has named, unless the client has no roots at all.
 */
async function rootFor(
  context: HandlerContext,
  workspace: Workspace,
): Promise<UsableRoot | undefined> {
  const { dialect, capabilities } = context.client;
  const mayAsk = dialect.sessionOfRequest(true) !== undefined;
  const choice = await workspace.chooseFor(mayAsk ? await context.roots() : notAsked);
  const isGuessed = !mayAsk && choice.source === 'cwd' && capabilities['roots'] !== undefined;
  return isGuessed ? undefined : choice.usable[0];
}
