/** The skills that lie in the project, for hosts that know skills. */
import { quoted } from 'mcp-actors/internal';
import type { HandlerContext, RootsReport, Skill } from 'mcp-actors';
import type { SkillFinder } from 'mcp-actors/internal';
import { SkillDirectory } from 'mcp-actors/skills';
import type { UsableRoot } from './project.ts';
import type { Workspace } from './workspace.ts';

/** Where projects keep skills. Of two with one name the first counts: many a project links one directory to the other. */
const directories = ['.agents/skills', '.claude/skills'] as const;

/**
 * Finds the skills of the project that a session works in, inside its root.
 *
 * @param onProblem receives why a skill is left out, once until that changes; by default the process is warned
 */
export function projectSkills(
  workspace: Workspace,
  onProblem: (problem: string) => void = (problem) => process.emitWarning(problem),
): SkillFinder {
  // A set: two directories may be one, by a link.
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

/** The problems of skills that another skill of the same name hides. A link to that other skill hides nothing. */
async function shadowedIn(skills: readonly Skill[]): Promise<ReadonlySet<string>> {
  const first = new Map<string, Skill>();
  const problems = new Set<string>();
  for (const skill of skills) {
    const other = first.get(skill.uri);
    if (!other) first.set(skill.uri, skill);
    else if ((await digestOf(skill)) !== (await digestOf(other))) {
      const name = quoted(skill.frontmatter.name);
      const [served, hidden] = directories;
      problems.add(`The skill ${name} in ${hidden} is left out: ${served} has one of that name`);
    }
  }
  return problems;
}

const digestOf = (skill: Skill): Promise<string> | undefined =>
  skill.files.get('SKILL.md')?.digest?.();

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
