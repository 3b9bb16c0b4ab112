/**
 * Which project a session works in, and why. Pure: what the file system and the client said comes
 * in as readings, so that every combination can be tested.
 */
import { contains, quoted, explainNoRoots } from 'mcp-actors/internal';
import type { checkDirectory } from 'mcp-actors/internal';
import type { RootDirectory } from 'mcp-actors/roots';
import type { Root, RootsReport } from 'mcp-actors';
import { basename, parse } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Where a project may come from; see {@link projectSources} for the order. */
export type ProjectSource = 'argument' | 'roots' | 'query' | 'env' | 'cwd';

/** The order of precedence. There is a query only over HTTP, if its client gives a project's path. */
const projectSources: readonly ProjectSource[] = ['argument', 'roots', 'query', 'env', 'cwd'];

/** A directory as it was asked for, and what the file system says of it. */
export interface InspectedDirectory {
  readonly given: string;
  readonly check: Awaited<ReturnType<typeof checkDirectory>>;
}

/** Everything that the choice depends on. */
export interface SourceReadings {
  /** The directories of the command line: a ceiling within which the client's roots choose. */
  readonly directories: readonly InspectedDirectory[];
  /** With true the client's usable roots replace the directories of the command line. */
  readonly followRoots: boolean;
  readonly report: RootsReport;
  /** `project_path` of the URL that the client has connected to, if it has one. */
  readonly query?: InspectedDirectory;
  /** `MCP_PROJECT_PATH`, if it is set and not empty. */
  readonly env?: InspectedDirectory;
  readonly cwd: InspectedDirectory;
  /** The home directory's real path. */
  readonly home: string;
}

/** A directory that tools may work in. */
export interface UsableRoot extends RootDirectory {
  readonly uri: string;
  readonly name: string;
  readonly source: ProjectSource;
}

export interface SkippedSource {
  readonly source: ProjectSource;
  /** For a person: why this source did not choose the project. */
  readonly reason: string;
}

export interface ProjectChoice {
  /**
   * The directories in which tools may work; the first is the project and the default. May be
   * empty.
   */
  readonly usable: readonly UsableRoot[];
  /** The source of all of `usable`; undefined if there is none. */
  readonly source: ProjectSource | undefined;
  /** True if the `primaryRoot` of the workspace has chosen the first of `usable`. */
  readonly isPrimary?: true;
  /** Every other source, in order of precedence, and why it did not choose. */
  readonly skipped: readonly SkippedSource[];
  /**
   * The client's list, in its order. A directory that the choice turned down has the problem
   * `OUTSIDE_DIRECTORIES`.
   */
  readonly roots: readonly Root[];
  /** True if the client was asked for its roots, and its answer failed or is still awaited. */
  readonly rootsMissed: boolean;
  /**
   * What a person should know: explicit settings that could not be followed, old roots still in
   * use.
   */
  readonly warnings: readonly string[];
}

/** Chooses the project. The same readings give the same choice. */
export function chooseProject(readings: SourceReadings): ProjectChoice {
  const { directories, followRoots, report } = readings;
  const given = directories.flatMap(toArgumentRoot);
  const ceiling = directories.length === 0 || followRoots ? undefined : given;
  const roots =
    ceiling === undefined ? report.roots : report.roots.map((root) => underCeiling(root, ceiling));
  const offers: Record<ProjectSource, Offer> = {
    argument: offerArgument(readings, given),
    roots: offerRoots(roots, ceiling),
    query: offerQuery(readings, given),
    env: offerFallback('env', readings.env, readings),
    cwd: offerFallback('cwd', readings.cwd, readings),
  };
  const source = eligibleSources(readings).find((candidate) => offers[candidate].usable.length > 0);
  return {
    usable: source === undefined ? [] : offers[source].usable,
    source,
    skipped: projectSources
      .filter((candidate) => candidate !== source && (candidate !== 'query' || readings.query))
      .map((candidate) => ({
        source: candidate,
        reason:
          candidate === 'roots' && offers.roots.usable.length === 0
            ? explainNoRoots(roots, report)
            : (offers[candidate].reason ?? whyPassedOver(candidate, source, readings)),
      })),
    roots,
    rootsMissed: report.status === 'failed' || !report.settled,
    warnings: warningsOf(readings, offers.env, source),
  };
}

/** The sources that give nothing wider than what was asked for, in order of precedence. */
function eligibleSources({ directories, report, query }: SourceReadings): readonly ProjectSource[] {
  // A client that asks for one project does not mean another one.
  if (query !== undefined) return ['roots', 'query'];
  // A command line that names directories is followed or nothing is.
  if (directories.length > 0) return ['roots', 'argument'];
  // A client that names roots does not mean the server's working directory, which may be a whole disk.
  if (report.roots.length > 0) return ['roots', 'env'];
  return projectSources;
}

/** What a source has to offer: usable roots, or the reason why none. */
interface Offer {
  readonly usable: readonly UsableRoot[];
  readonly reason?: string;
}

function toUsable(directory: RootDirectory, source: ProjectSource, root?: Root): UsableRoot {
  const { path, identity, within } = directory;
  return {
    path,
    identity,
    uri: root?.uri ?? pathToFileURL(path).href,
    name: root?.name || basename(path) || path,
    source,
    ...(within === undefined ? {} : { within }),
  };
}

function toArgumentRoot({ check }: InspectedDirectory): UsableRoot[] {
  return check.ok ? [toUsable(check, 'argument')] : [];
}

function underCeiling(root: Root, given: readonly UsableRoot[]): Root {
  const { path, ...rest } = root;
  if (path === undefined || ceilingOf(path, given) !== undefined) return root;
  const within = given.map((directory) => directory.path).join(', ') || 'none that can be used';
  const message = `${quoted(path)} is outside the directories given on the command line: ${within}`;
  return { ...rest, problem: { code: 'OUTSIDE_DIRECTORIES', message } };
}

function ceilingOf(path: string, given: readonly UsableRoot[]): UsableRoot | undefined {
  return given.find((directory) => contains(directory.path, path));
}

function offerArgument({ directories }: SourceReadings, given: readonly UsableRoot[]): Offer {
  if (directories.length === 0) {
    return { usable: [], reason: 'no directory was given on the command line' };
  }
  if (given.length > 0) return { usable: uniqueByPath(given) };
  const faults = directories.flatMap(({ check }) => (check.ok ? [] : [check.message]));
  const reason = `the directories of the command line cannot be used: ${faults.join('; ')}`;
  return { usable: [], reason };
}

function offerRoots(roots: readonly Root[], ceiling: readonly UsableRoot[] = []): Offer {
  const usable = roots.flatMap((root) => {
    const { uri, name, path, identity, problem } = root;
    if (path === undefined || identity === undefined || problem !== undefined) return [];
    const within = ceilingOf(path, ceiling);
    const directory = { path, identity, ...(within === undefined ? {} : { within }) };
    return [toUsable(directory, 'roots', { uri, ...(name ? { name } : {}) })];
  });
  return { usable };
}

/** Within the directories of the command line, if there are any, whatever the roots may do. */
function offerQuery(readings: SourceReadings, given: readonly UsableRoot[]): Offer {
  const { directories, query } = readings;
  const offer = offerFallback('query', query, readings);
  const [root] = offer.usable;
  if (root === undefined || directories.length === 0) return offer;
  const within = ceilingOf(root.path, given);
  if (within !== undefined) return { usable: [{ ...root, within }] };
  const { problem } = underCeiling({ uri: root.uri, path: root.path }, given);
  return { usable: [], reason: `project_path is not used: ${problem?.message}` };
}

const fallbackNames = {
  query: 'project_path',
  env: 'MCP_PROJECT_PATH',
  cwd: 'the working directory',
} as const;

function offerFallback(
  source: keyof typeof fallbackNames,
  reading: InspectedDirectory | undefined,
  { home }: SourceReadings,
): Offer {
  if (reading === undefined) return { usable: [], reason: 'MCP_PROJECT_PATH is not set' };
  const { check } = reading;
  const unused = `${fallbackNames[source]} is not used`;
  if (!check.ok) return { usable: [], reason: `${unused}: ${check.message}` };
  const tooWide =
    check.path === parse(check.path).root
      ? 'the root of the file system'
      : check.path === home
        ? 'the home directory'
        : undefined;
  if (tooWide === undefined) return { usable: [toUsable(check, source)] };
  const reason = `${unused}: ${quoted(check.path)} is ${tooWide}, which is used only if it is given on the command line or as a root`;
  return { usable: [], reason };
}

function uniqueByPath(roots: readonly UsableRoot[]): UsableRoot[] {
  return roots.filter((root, index) => index === roots.findIndex(({ path }) => path === root.path));
}

function whyPassedOver(
  passed: ProjectSource,
  chosen: ProjectSource | undefined,
  { directories, followRoots, query }: SourceReadings,
): string {
  if (query !== undefined && chosen !== 'roots') return 'the client has asked for one project';
  if (passed === 'argument') {
    return followRoots
      ? "the client's roots replace the directories of the command line"
      : "the client's roots choose within the directories of the command line";
  }
  if (directories.length > 0) return 'directories were given on the command line';
  if (chosen === undefined) {
    return 'the working directory is not used, because the client has declared other roots';
  }
  return `${chosen} comes first`;
}

function warningsOf(
  { directories, env, report }: SourceReadings,
  envOffer: Offer,
  source: ProjectSource | undefined,
): string[] {
  const warnings = directories.flatMap(({ check }) => (check.ok ? [] : [check.message]));
  // It was set on purpose, so the user must learn that it has no effect.
  if (env !== undefined && envOffer.reason !== undefined) warnings.push(envOffer.reason);
  if (source === 'roots' && report.status === 'failed') {
    const problem = report.problem ?? 'the last query failed';
    warnings.push(`The roots are those known before: ${problem}`);
  }
  return warnings;
}
