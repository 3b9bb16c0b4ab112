/**
 * Complete description of a session's workspace, for `workspace_info` and the `workspace://roots`
 * resource. Each fact appears once.
 */
import { assertRootAvailable } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import type { HandlerContext, Root, RootsReport } from 'mcp-actors';
import type { GitHead } from './git-head.ts';
import type { ProjectFacts } from './project-facts.ts';
import { explainChoice, explainNoProject } from './project-notes.ts';
import type { ProjectChoice, UsableRoot } from './project.ts';
import type { Workspace } from './workspace.ts';

/** Characters shown of each list as JSON; counts always cover the whole list. */
const maxListedCharacters = 8000;

const text = { type: 'string' } as const;
const count = { type: 'integer' } as const;

function object<const TProperties extends Record<string, unknown>, const TRequired extends string>(
  properties: TProperties,
  required: readonly TRequired[],
  description?: string,
) {
  const schema = { type: 'object', properties, required, additionalProperties: false } as const;
  return description === undefined ? schema : { ...schema, description };
}

/** JSON Schema 2020-12 of {@link WorkspaceFacts}. */
export const workspaceFactsSchema = object(
  {
    project: object(
      {
        path: text,
        name: text,
        source: { type: 'string', enum: ['argument', 'roots', 'query', 'env', 'cwd'] },
      },
      ['path', 'name', 'source'],
      'Default root of every tool; absent without a project.',
    ),
    why: { type: 'string', description: 'Reason for this project, or for having none.' },
    others: {
      type: 'array',
      description: 'Other roots that tools may work in.',
      items: object({ name: text, path: text }, ['name', 'path']),
    },
    roots: object(
      {
        status: {
          type: 'string',
          enum: ['known', 'undeclared', 'unsupported', 'failed'],
          description: 'undeclared: the client does not use roots.',
        },
        isStale: { type: 'boolean', description: 'True while a newer list has been requested.' },
        listed: count,
        usable: count,
        unusable: {
          type: 'array',
          items: object({ uri: text, code: text, message: text }, ['uri', 'code', 'message']),
        },
      },
      ['status', 'listed', 'usable'],
      'Outcome of the roots query.',
    ),
    git: object(
      { repository: text, branch: text, commit: text, problem: text },
      [],
      'branch, or commit if the head is detached; repository if it differs from the project.',
    ),
    scripts: {
      type: 'array',
      description: 'Scripts and targets declared by the project, by file.',
      items: object(
        {
          file: text,
          runner: {
            type: 'string',
            description: 'Command that runs them; empty if they are commands themselves.',
          },
          names: { type: 'array', items: text },
          problem: text,
        },
        ['file', 'runner', 'names'],
      ),
    },
    warnings: { type: 'array', items: text },
  },
  ['why', 'roots'],
);

/**
 * Collects the facts. Rejects only if `context.roots()` does; a project that has disappeared
 * becomes a warning.
 */
export async function gatherFacts(workspace: Workspace, context: HandlerContext) {
  const { choice, report } = await workspace.choose(context);
  const [project, ...others] = choice.usable;
  workspace.markNotified(choice);
  const { facts, warnings: met } = await readFacts(choice);
  const warnings = [...choice.warnings, ...met];
  const { scripts, git } = facts;
  return {
    ...(project === undefined ? {} : { project: projectFacts(project) }),
    why: project === undefined ? explainNoProject(choice) : explainChoice(choice),
    ...(others.length === 0
      ? {}
      : { others: firstThatFit(others.map(({ name, path }) => ({ name, path }))) }),
    roots: rootsFacts(choice.roots, report),
    ...(git === undefined ? {} : { git: gitFacts(git, project) }),
    ...(scripts.length === 0 ? {} : { scripts }),
    ...(warnings.length === 0 ? {} : { warnings: firstThatFit(warnings) }),
  };
}

/** Conforms to {@link workspaceFactsSchema}. */
export type WorkspaceFacts = Awaited<ReturnType<typeof gatherFacts>>;

/** The first items that fit. */
function firstThatFit<T>(items: readonly T[]): readonly T[] {
  let room = maxListedCharacters;
  const end = items.findIndex((item) => {
    room -= JSON.stringify(item).length;
    return room < 0;
  });
  return end === -1 ? items : items.slice(0, end);
}

async function readFacts(
  choice: ProjectChoice,
): Promise<{ facts: ProjectFacts; warnings: readonly string[] }> {
  const [project] = choice.usable;
  if (project === undefined) return { facts: { scripts: [] }, warnings: [] };
  try {
    await assertRootAvailable(project);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return { facts: { scripts: [] }, warnings: [error.message] };
  }
  const boundary = { directories: choice.usable, base: project };
  // Loaded on demand: listing tools must not wait for it.
  const { readProjectFacts } = await import('./project-facts.ts');
  return { facts: await readProjectFacts(boundary), warnings: [] };
}

function projectFacts({ path, name, source }: UsableRoot) {
  return { path, name, source };
}

function rootsFacts(roots: readonly Root[], { status, settled }: RootsReport) {
  const unusable = roots.flatMap((root) =>
    root.path === undefined || root.problem !== undefined ? [faultOf(root)] : [],
  );
  return {
    status,
    ...(settled ? {} : { isStale: true }),
    listed: roots.length,
    usable: roots.length - unusable.length,
    ...(unusable.length === 0 ? {} : { unusable: firstThatFit(unusable) }),
  };
}

function faultOf({ uri, problem }: Root) {
  return { uri, ...(problem ?? { code: 'UNRESOLVED', message: 'not resolved' }) };
}

/** Exactly one of the first three is set. */
interface GitFacts {
  readonly branch?: string;
  readonly commit?: string;
  readonly problem?: string;
  readonly repository?: string;
}

function gitFacts(head: GitHead, project: UsableRoot | undefined): GitFacts {
  const where = head.repository === project?.path ? {} : { repository: head.repository };
  switch (head.kind) {
    case 'branch':
      return { branch: head.branch, ...where };
    case 'detached':
      return { commit: head.commit, ...where };
    case 'unreadable':
      return { problem: head.problem, ...where };
  }
}
