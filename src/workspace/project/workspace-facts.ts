/**
 * What a session's workspace is, in full: for `workspace_info` and the `workspace://roots`
 * resource.
 */
import type { Root, RootsReport } from '../../machines/roots-report.ts';
import { ToolError } from '../../protocol/errors.ts';
import type { HandlerContext } from '../../context/handler-context.ts';
import type { GitHead } from './git-head.ts';
import type { ProjectFacts } from './project-facts.ts';
import { whyChosen, whyNoProject } from './project-notes.ts';
import type { ProjectChoice, UsableRoot } from './project.ts';
import { assertRootAvailable } from '../roots/root-directory.ts';
import type { Workspace } from './workspace.ts';

/** A list of ten thousand roots is counted in full and listed so far. */
const maxListed = 200;

const text = { type: 'string' } as const;
const texts = { type: 'array', items: text } as const;
const source = { type: 'string', enum: ['argument', 'roots', 'env', 'cwd'] } as const;

function object<const TProperties extends Record<string, unknown>, const TRequired extends string>(
  properties: TProperties,
  required: readonly TRequired[],
  description?: string,
) {
  const schema = { type: 'object', properties, required, additionalProperties: false } as const;
  return description === undefined ? schema : { ...schema, description };
}

/** The schema of {@link WorkspaceFacts}, JSON Schema 2020-12. */
export const workspaceFactsSchema = object(
  {
    project: object(
      { path: text, name: text, uri: text, source },
      ['path', 'name', 'uri', 'source'],
      'The default root of every tool; absent if there is none.',
    ),
    why: { type: 'string', description: 'Why this project, or why none.' },
    skipped: {
      type: 'array',
      description: 'The other sources, in order of precedence, and why they did not choose.',
      items: object({ source, reason: text }, ['source', 'reason']),
    },
    roots: object(
      {
        status: {
          type: 'string',
          enum: ['known', 'undeclared', 'unsupported', 'failed'],
          description: 'What came of asking the client.',
        },
        settled: { type: 'boolean', description: 'False while a newer list is being asked for.' },
        problem: text,
        declared: { type: 'integer', description: 'Entries in the list.' },
        usable: { type: 'integer', description: 'Entries that tools may work in.' },
        entries: {
          type: 'array',
          description: `The first ${maxListed}, in the client's order.`,
          items: object(
            {
              uri: text,
              name: text,
              path: text,
              usable: { type: 'boolean' },
              problem: object({ code: text, message: text }, ['code', 'message']),
            },
            ['uri', 'usable'],
          ),
        },
      },
      ['status', 'settled', 'declared', 'usable', 'entries'],
      "The client's roots.",
    ),
    directories: {
      ...texts,
      description: `What tools may work in: real paths, the default first; the first ${maxListed}.`,
    },
    git: object(
      { repository: text, branch: text, commit: text, problem: text },
      ['repository'],
      'branch, or commit if the head is detached.',
    ),
    scripts: {
      type: 'array',
      description: 'Scripts and targets that the project declares, by file.',
      items: object(
        {
          file: text,
          runner: {
            type: 'string',
            description: 'What runs one of them; empty if they are commands of their own.',
          },
          scripts: { type: 'array', items: object({ name: text, command: text }, ['name']) },
          problem: text,
        },
        ['file', 'runner', 'scripts'],
      ),
    },
    warnings: texts,
  },
  ['why', 'skipped', 'roots', 'directories', 'scripts', 'warnings'],
);

/**
 * Gathers the facts. Fails only as `context.roots()` does: a project that has disappeared is a
 * warning.
 */
export async function gatherFacts(workspace: Workspace, context: HandlerContext) {
  const { choice, report } = await workspace.choose(context);
  const [project] = choice.usable;
  const { facts, warnings } = await readFacts(choice);
  return {
    ...(project === undefined ? {} : { project: projectFacts(project) }),
    why: project === undefined ? whyNoProject(choice) : whyChosen(choice),
    skipped: choice.skipped,
    roots: rootsFacts(choice.roots, report),
    directories: choice.usable.slice(0, maxListed).map(({ path }) => path),
    ...(facts.git === undefined ? {} : { git: gitFacts(facts.git) }),
    scripts: facts.scripts,
    warnings: [...choice.warnings, ...warnings],
  };
}

/** Conforms to {@link workspaceFactsSchema}. */
export type WorkspaceFacts = Awaited<ReturnType<typeof gatherFacts>>;

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
  // A server that has just been launched describes its tools without it.
  const { readProjectFacts } = await import('./project-facts.ts');
  return { facts: await readProjectFacts(boundary), warnings: [] };
}

function projectFacts({ path, name, uri, source: from }: UsableRoot) {
  return { path, name, uri, source: from };
}

function rootsFacts(roots: readonly Root[], report: RootsReport) {
  const { status, settled, problem } = report;
  return {
    status,
    settled,
    ...(problem === undefined ? {} : { problem }),
    declared: roots.length,
    usable: roots.filter(isUsable).length,
    entries: roots
      .slice(0, maxListed)
      .map(({ identity: _, ...root }) => ({ ...root, usable: isUsable(root) })),
  };
}

function isUsable({ path, problem }: Root): boolean {
  return path !== undefined && problem === undefined;
}

function gitFacts(head: GitHead) {
  const { repository } = head;
  switch (head.kind) {
    case 'branch':
      return { repository, branch: head.branch };
    case 'detached':
      return { repository, commit: head.commit };
    case 'unreadable':
      return { repository, problem: head.problem };
  }
}
