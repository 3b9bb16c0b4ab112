/** The skills that lie in the project, for hosts that know skills. */
import type { SkillFinder } from 'mcp-actors';
import { SkillDirectory } from 'mcp-actors/skills';
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
    const { choice } = await workspace.choose(context);
    const [root] = choice.usable;
    if (!root) return [];
    const boundary = { directories: [root], base: root };
    const found = looking.map(({ path, directory }) => directory.skills(boundary, path));
    return (await Promise.all(found)).flat();
  };
}
