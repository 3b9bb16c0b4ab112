/** Skills found in the project, for hosts that support skills. */
import { quoted } from 'mcp-actors/internal';
import type { HandlerContext, RootsReport, Skill } from 'mcp-actors';
import type { SkillFinder } from 'mcp-actors/internal';
import { SkillDirectory } from 'mcp-actors/skills';
import type { UsableRoot } from './project.ts';
import type { Workspace } from './workspace.ts';

/**
 * Directories where projects keep skills. On equal names the first directory wins; many projects
 * link one to the other.
 */
const directories = ['.agents/skills', '.claude/skills'] as const;

/**
 * Finds the skills in the root of a session's project.
 *
 * @param onProblem receives the reason why a skill is skipped, once until the reason changes;
 * default: a process warning
 */
export function projectSkills(
  workspace: Workspace,
  onProblem: (problem: string) => void = (problem) => process.emitWarning(problem),
): SkillFinder {
  // A set, because both directories may be the same through a link.
  const problems = new Set<string>();
  const looking = directories.map((path) => {
    const directory = new SkillDirectory({ onProblem: (problem) => problems.add(problem) });
    return { path, directory };
  });
  let shadowedBefore: ReadonlySet<string> = new Set();
  return async (context) => {
    const root = await rootFor(context, workspace);
    if (!root) return [];
    const boundary = { directories: [root], base: root };
    const found = looking.map(({ path, directory }) => directory.skills(boundary, path));
    const skills = (await Promise.all(found)).flat();
    const shadowed = await shadowedIn(skills);
    for (const problem of shadowed) if (!shadowedBefore.has(problem)) problems.add(problem);
    shadowedBefore = shadowed;
    for (const problem of problems) onProblem(problem);
    problems.clear();
    return skills;
  };
}

/**
 * Reports skills hidden by a different skill of the same name. A link to the same skill hides
 * nothing.
 */
async function shadowedIn(skills: readonly Skill[]): Promise<ReadonlySet<string>> {
  const first = new Map<string, Skill>();
  const problems = new Set<string>();
  for (const skill of skills) {
    const other = first.get(skill.uri);
    if (!other) first.set(skill.uri, skill);
    else if ((await digestOf(skill)) !== (await digestOf(other))) {
      const name = quoted(skill.frontmatter.name);
      const [served, hidden] = directories;
      problems.add(`Skill ${name} in ${hidden} is skipped: ${served} has a skill of the same name`);
    }
  }
  return problems;
}

const digestOf = (skill: Skill): Promise<string> | undefined =>
  skill.files.get('SKILL.md')?.digest?.();

/** Stands in for roots that may not be queried. */
const unqueriedRoots: RootsReport = {
  status: 'undeclared',
  generation: 0,
  settled: true,
  roots: [],
};

/**
 * Returns the project's root for listing skills. Since 2026-07-28 a list request cannot query its
 * client, and lists must agree with reads. For such clients only a directory chosen by the user
 * counts, unless the client has no roots capability.
 */
async function rootFor(
  context: HandlerContext,
  workspace: Workspace,
): Promise<UsableRoot | undefined> {
  const { dialect, capabilities } = context.client;
  const mayAsk = dialect.sessionOfRequest(true) !== undefined;
  const choice = await workspace.chooseFor(mayAsk ? await context.roots() : unqueriedRoots);
  const isGuessed = !mayAsk && choice.source === 'cwd' && capabilities['roots'] !== undefined;
  return isGuessed ? undefined : choice.usable[0];
}
