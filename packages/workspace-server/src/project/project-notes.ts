/**
 * Explains the choice of the project in sentences: notes for results that use a fallback, and the
 * error for a missing project.
 */
import { quoted } from 'mcp-actors/internal';
import type { ProjectChoice, ProjectSource } from './project.ts';

const sourceNames: Record<ProjectSource, string> = {
  argument: 'the directory given on the command line',
  roots: "the client's roots",
  query: 'the project_path of the connected URL',
  env: 'MCP_PROJECT_PATH',
  cwd: "the server's working directory",
};

/** Number of unusable roots in the error for a missing project. */
const maxFaults = 20;
/** Number of unusable roots in a note. */
const maxFaultsInNote = 3;

/**
 * Returns a note for a result that does not use the client's roots although the client could have
 * provided some. Undefined if unnecessary: the user chose the directory, or the roots did.
 */
export function fallbackNote(choice: ProjectChoice): string | undefined {
  const { source, usable } = choice;
  const [project] = usable;
  if (source === undefined || source === 'roots' || project === undefined) return undefined;
  // Chosen explicitly, regardless of roots.
  const isAskedFor = source === 'argument' || source === 'query';
  if (isAskedFor && choice.roots.length === 0 && !choice.rootsMissed) return undefined;
  const why = `${explainUnusedRoots(choice)}${listFaults(choice, maxFaultsInNote)}`;
  return `Working in ${project.path}, ${sourceNames[source]}: ${why}.`;
}

/** Explains why there is no project; the roots' problems are passed in. */
export function explainNoProject(choice: ProjectChoice, faults = ''): string {
  const reasons = choice.skipped.map(({ source, reason }) =>
    source === 'roots' ? `${reason}${faults}` : reason,
  );
  return `There is no project to work in: ${reasons.join('; ')}. Declare a root, give a directory on the command line, or set MCP_PROJECT_PATH to an absolute path.`;
}

/** Error message of tools that need a project, including the roots' problems. */
export function noProjectMessage(choice: ProjectChoice): string {
  return explainNoProject(choice, listFaults(choice, maxFaults));
}

/** Explains in one sentence why the project was chosen, or why there is none. */
export function explainChoice(choice: ProjectChoice): string {
  const { source, usable } = choice;
  if (source === undefined) return explainNoProject(choice);
  const which = choice.isPrimary ? 'primary one' : 'first';
  const first = usable.length > 1 ? `, the ${which} of ${usable.length}` : '';
  const isFallback = source === 'env' || source === 'cwd';
  return `${sourceNames[source]}${first}${isFallback ? `: ${explainUnusedRoots(choice)}` : ''}`;
}

function explainUnusedRoots({ skipped }: ProjectChoice): string {
  return skipped.find(({ source }) => source === 'roots')?.reason ?? 'no roots';
}

function listFaults({ roots }: ProjectChoice, most: number): string {
  const unusable = roots.filter(({ path, problem }) => path === undefined || problem !== undefined);
  if (unusable.length === 0) return '';
  const faults = unusable
    .slice(0, most)
    .map(({ uri, problem }) => `${quoted(uri)}: ${problem?.message ?? 'not resolved'}`);
  const more = unusable.length > most ? [`and ${unusable.length - most} more`] : [];
  return ` (${[...faults, ...more].join('; ')})`;
}
