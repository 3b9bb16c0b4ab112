/**
 * Chooses a session's project and explains the choice. Pure: facts from the file system and the
 * client are passed in, so every combination can be tested.
 */
import { contains, quoted, explainNoRoots } from 'mcp-actors/internal';
import type { checkDirectory } from 'mcp-actors/internal';
import type { RootDirectory } from 'mcp-actors/roots';
import type { Root, RootsReport } from 'mcp-actors';
import { basename, parse } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Source of a project; {@link projectSources} has the precedence. */
export type ProjectSource = 'argument' | 'roots' | 'query' | 'env' | 'cwd';

/**
 * Order of precedence. `query` only exists over HTTP, if the client's URL contains a project path.
 */
const projectSources: readonly ProjectSource[] = ['argument', 'roots', 'query', 'env', 'cwd'];

/** A requested directory and its check against the file system. */
export interface InspectedDirectory {
  readonly given: string;
  readonly check: Awaited<ReturnType<typeof checkDirectory>>;
}

/** Inputs of the choice. */
export interface SourceReadings {
  /** Directories from the command line: a ceiling within which the client's roots choose. */
  readonly directories: readonly InspectedDirectory[];
  /** True if the client's usable roots replace the command line's directories. */
  readonly followRoots: boolean;
  readonly report: RootsReport;
  /** `project_path` of the client's connection URL, if present. */
  readonly query?: InspectedDirectory;
  /** `MCP_PROJECT_PATH`, if set and not empty. */
  readonly env?: InspectedDirectory;
  readonly cwd: InspectedDirectory;
  /** Real path of the home directory. */
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
  /** Readable reason why this source did not choose the project. */
  readonly reason: string;
}

export interface ProjectChoice {
  /** Directories that tools may work in; the first is the project and the default. May be empty. */
  readonly usable: readonly UsableRoot[];
  /** Source of all `usable` directories; undefined if there are none. */
  readonly source: ProjectSource | undefined;
  /** True if `primaryRoot` of the workspace selected the first directory. */
  readonly isPrimary?: true;
  /** The other sources in order of precedence, with the reason why each was skipped. */
  readonly skipped: readonly SkippedSource[];
  /**
   * The client's roots in order. Roots outside the command line's directories have the problem
   * `OUTSIDE_DIRECTORIES`.
   */
  readonly roots: readonly Root[];
  /** True if the roots query failed or is still pending. */
  readonly rootsMissed: boolean;
  /** Warnings for people: explicit settings that had no effect, or stale roots in use. */
  readonly warnings: readonly string[];
}

/** Chooses the project deterministically from the readings. */
export function chooseProject(readings: SourceReadings): ProjectChoice {
  const { directories, followRoots, report } = readings;
  const given = directories.flatMap(toArgumentRoot);
  const ceiling = directories.length === 0 || followRoots ? undefined : given;
  const roots =
    ceiling === undefined
      ? report.roots
      : report.roots.map((root) => limitToCeiling(root, ceiling));
  const results: Record<ProjectSource, SourceResult> = {
    argument: fromArgument(readings, given),
    roots: fromRoots(roots, ceiling),
    query: fromQuery(readings, given),
    env: fromFallback('env', readings.env, readings),
    cwd: fromFallback('cwd', readings.cwd, readings),
  };
  const source = eligibleSources(readings).find(
    (candidate) => results[candidate].usable.length > 0,
  );
  return {
    usable: source === undefined ? [] : results[source].usable,
    source,
    skipped: projectSources
      .filter((candidate) => candidate !== source && (candidate !== 'query' || readings.query))
      .map((candidate) => ({
        source: candidate,
        reason:
          candidate === 'roots' && results.roots.usable.length === 0
            ? explainNoRoots(roots, report)
            : (results[candidate].reason ?? explainSkipped(candidate, source, readings)),
      })),
    roots,
    rootsMissed: report.status === 'failed' || !report.settled,
    warnings: warningsOf(readings, results.env, source),
  };
}

/** Sources in order of precedence, without those wider than what was explicitly requested. */
function eligibleSources({ directories, report, query }: SourceReadings): readonly ProjectSource[] {
  // A client that asks for one project does not mean another.
  if (query !== undefined) return ['roots', 'query'];
  // Explicit directories have no fallback.
  if (directories.length > 0) return ['roots', 'argument'];
  // A client with roots does not mean the server's working directory, which may be a whole disk.
  if (report.roots.length > 0) return ['roots', 'env'];
  return projectSources;
}

/** Usable roots of a source, or the reason why there are none. */
interface SourceResult {
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

function limitToCeiling(root: Root, given: readonly UsableRoot[]): Root {
  const { path, ...rest } = root;
  if (path === undefined || ceilingOf(path, given) !== undefined) return root;
  const within = given.map((directory) => directory.path).join(', ') || 'none that can be used';
  const message = `${quoted(path)} is outside the directories given on the command line: ${within}`;
  return { ...rest, problem: { code: 'OUTSIDE_DIRECTORIES', message } };
}

function ceilingOf(path: string, given: readonly UsableRoot[]): UsableRoot | undefined {
  return given.find((directory) => contains(directory.path, path));
}

function fromArgument({ directories }: SourceReadings, given: readonly UsableRoot[]): SourceResult {
  if (directories.length === 0) {
    return { usable: [], reason: 'no directory was given on the command line' };
  }
  if (given.length > 0) return { usable: uniqueByPath(given) };
  const faults = directories.flatMap(({ check }) => (check.ok ? [] : [check.message]));
  const reason = `directories on the command line are unusable: ${faults.join('; ')}`;
  return { usable: [], reason };
}

function fromRoots(roots: readonly Root[], ceiling: readonly UsableRoot[] = []): SourceResult {
  const usable = roots.flatMap((root) => {
    const { uri, name, path, identity, problem } = root;
    if (path === undefined || identity === undefined || problem !== undefined) return [];
    const within = ceilingOf(path, ceiling);
    const directory = { path, identity, ...(within === undefined ? {} : { within }) };
    return [toUsable(directory, 'roots', { uri, ...(name ? { name } : {}) })];
  });
  return { usable };
}

/** Limited to the command line's directories, if any, whatever the roots allow. */
function fromQuery(readings: SourceReadings, given: readonly UsableRoot[]): SourceResult {
  const { directories, query } = readings;
  const result = fromFallback('query', query, readings);
  const [root] = result.usable;
  if (root === undefined || directories.length === 0) return result;
  const within = ceilingOf(root.path, given);
  if (within !== undefined) return { usable: [{ ...root, within }] };
  const { problem } = limitToCeiling({ uri: root.uri, path: root.path }, given);
  return { usable: [], reason: `project_path is not used: ${problem?.message}` };
}

const fallbackNames = {
  query: 'project_path',
  env: 'MCP_PROJECT_PATH',
  cwd: 'the working directory',
} as const;

function fromFallback(
  source: keyof typeof fallbackNames,
  reading: InspectedDirectory | undefined,
  { home }: SourceReadings,
): SourceResult {
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
  const reason = `${unused}: ${quoted(check.path)} is ${tooWide}, which must be given on the command line or as a root`;
  return { usable: [], reason };
}

function uniqueByPath(roots: readonly UsableRoot[]): UsableRoot[] {
  return roots.filter((root, index) => index === roots.findIndex(({ path }) => path === root.path));
}

function explainSkipped(
  passed: ProjectSource,
  chosen: ProjectSource | undefined,
  { directories, followRoots, query }: SourceReadings,
): string {
  if (query !== undefined && chosen !== 'roots') return 'the client asked for one project';
  if (passed === 'argument') {
    return followRoots
      ? "the client's roots replace the directories of the command line"
      : "the client's roots choose within the directories of the command line";
  }
  if (directories.length > 0) return 'directories were given on the command line';
  if (chosen === undefined) {
    return 'the working directory is not used because the client declared roots';
  }
  return `${chosen} has precedence`;
}

function warningsOf(
  { directories, env, report }: SourceReadings,
  envResult: SourceResult,
  source: ProjectSource | undefined,
): string[] {
  const warnings = directories.flatMap(({ check }) => (check.ok ? [] : [check.message]));
  // The user set it on purpose and must learn that it has no effect.
  if (env !== undefined && envResult.reason !== undefined) warnings.push(envResult.reason);
  if (source === 'roots' && report.status === 'failed') {
    const problem = report.problem ?? 'the last query failed';
    warnings.push(`Using the last known roots: ${problem}`);
  }
  return warnings;
}
