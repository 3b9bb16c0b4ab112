/**
 * The choice of the project in sentences: for a result that rests on a fallback, and for the error
 * if there is no project.
 */
import { quoted } from 'mcp-actors/internal';
import type { ProjectChoice, ProjectSource } from './project.ts';

const sourceWords: Record<ProjectSource, string> = {
  argument: 'the directory given on the command line',
  roots: "the client's roots",
  query: 'the project_path that the client has connected with',
  env: 'MCP_PROJECT_PATH',
  cwd: "the server's working directory",
};

/** How many unusable roots the error names if there is no project. */
const maxFaults = 20;
/** How many the note names. */
const maxFaultsOfNote = 3;

/**
 * A sentence for a result that does not rest on the client's roots though the client could have
 * given some, or undefined if none is needed: the user asked for this directory, or the roots chose
 * it.
 */
export function fallbackNote(choice: ProjectChoice): string | undefined {
  const { source, usable } = choice;
  const [project] = usable;
  if (source === undefined || source === 'roots' || project === undefined) return undefined;
  // These were asked for explicitly, even if the client has no roots.
  const isAskedFor = source === 'argument' || source === 'query';
  if (isAskedFor && choice.roots.length === 0 && !choice.rootsMissed) return undefined;
  const why = `${whyNotRoots(choice)}${listFaults(choice, maxFaultsOfNote)}`;
  return `Working in ${project.path}, ${sourceWords[source]}: ${why}.`;
}

/** Why there is no project at all; the faults of the roots are apart. */
export function whyNoProject(choice: ProjectChoice, faults = ''): string {
  const reasons = choice.skipped.map(({ source, reason }) =>
    source === 'roots' ? `${reason}${faults}` : reason,
  );
  return `There is no project to work in: ${reasons.join('; ')}. Declare a root, give a directory on the command line, or set MCP_PROJECT_PATH to an absolute path.`;
}

/** The same with the faults, for the error of a tool that needs a project. */
export function noProjectMessage(choice: ProjectChoice): string {
  return whyNoProject(choice, listFaults(choice, maxFaults));
}

/** Why the project is what it is, in one sentence; the choice has one. */
export function whyChosen(choice: ProjectChoice): string {
  const { source, usable } = choice;
  if (source === undefined) return whyNoProject(choice);
  const which = choice.isPrimary ? 'primary one' : 'first';
  const first = usable.length > 1 ? `, the ${which} of ${usable.length}` : '';
  const isFallback = source === 'env' || source === 'cwd';
  return `${sourceWords[source]}${first}${isFallback ? `: ${whyNotRoots(choice)}` : ''}`;
}

function whyNotRoots({ skipped }: ProjectChoice): string {
  return skipped.find(({ source }) => source === 'roots')?.reason ?? 'no roots';
}

function listFaults({ roots }: ProjectChoice, most: number): string {
  const unusable = roots.filter(({ path, problem }) => path === undefined || problem !== undefined);
  if (unusable.length === 0) return '';
  const faults = unusable
    .slice(0, most)
    .map(({ uri, problem }) => `${quoted(uri)}: ${problem?.message ?? 'it has not been resolved'}`);
  const more = unusable.length > most ? [`and ${unusable.length - most} more`] : [];
  return ` (${[...faults, ...more].join('; ')})`;
}
