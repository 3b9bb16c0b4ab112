/**
 * The choice of the project in sentences: for results that rest on a fallback, and for the error if
 * there is no project.
 */
import { projectSources } from './project.ts';
import type { ProjectChoice, ProjectSource } from './project.ts';

const sourceWords: Record<ProjectSource, string> = {
  argument: 'the directory given on the command line',
  roots: "the client's roots",
  env: 'MCP_PROJECT_PATH',
  cwd: "the server's working directory",
};

/**
 * A sentence for a result that does not rest on the client's roots though the client could have
 * given some, or undefined if none is needed: the user asked for this directory, or the roots chose
 * it.
 */
export function fallbackNote(choice: ProjectChoice): string | undefined {
  const { source, usable, skipped } = choice;
  const [project] = usable;
  if (source === undefined || source === 'roots' || project === undefined) return undefined;
  const passed = skipped.find((skip) => skip.source === 'roots');
  // With directories on the command line, a client without roots does not deserve a line in every
  // result.
  if (source === 'argument' && choice.roots.length === 0 && !choice.rootsMissed) return undefined;
  return `Working in ${project.path}, ${sourceWords[source]}: ${passed?.reason ?? 'no roots'}.`;
}

/** Why there is no project at all; for the error of a tool that needs one. */
export function whyNoProject(choice: ProjectChoice): string {
  const reasons = choice.skipped.map(({ reason }) => reason).join('; ');
  return `There is no project to work in: ${reasons}. Declare a root, give a directory on the command line, or set MCP_PROJECT_PATH to an absolute path.`;
}

/** Why the project is what it is, in one sentence; the choice has one. */
export function whyChosen(choice: ProjectChoice): string {
  const { source, usable, skipped } = choice;
  if (source === undefined) return whyNoProject(choice);
  const others = usable.length > 1 ? `, the first of ${usable.length}` : '';
  const before = skipped
    .filter((skip) => projectSources.indexOf(skip.source) < projectSources.indexOf(source))
    .map(({ reason }) => reason);
  const reasons = before.length === 0 ? '' : ` (${before.join('; ')})`;
  return `Chosen by ${sourceWords[source]}${others}${reasons}`;
}
