/** State shared by a session's tools: the chosen project and the running searches. */
import { checkDirectory, contains, quoted } from 'mcp-actors/internal';
import { assertRootAvailable, rootsBoundary } from 'mcp-actors/roots';
import type { Boundary, PrimaryRoot } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import type { HandlerContext, RootsReport } from 'mcp-actors';
import { isAbsolute } from 'node:path';
import { chooseProject } from './project.ts';
import type { InspectedDirectory, ProjectChoice, UsableRoot } from './project.ts';
import { fallbackNote, noProjectMessage } from './project-notes.ts';
import { selectRoot } from './root-selection.ts';
import { deadlineIn, defaultSearchTimeoutMs, semaphore } from '../search/search-limits.ts';

export interface WorkspaceSources {
  /**
   * Absolute directories from the command line: a ceiling within which the client's roots choose.
   */
  readonly directories?: readonly string[];
  /** True if the client's usable roots replace `directories`. */
  readonly followRoots?: boolean;
  /** Which of several client roots is the project. Default: `first`. */
  readonly primaryRoot?: PrimaryRoot;
  /** Project path in the client's connection URL. */
  readonly projectPath?: string;
  readonly environment?: { readonly MCP_PROJECT_PATH?: string | undefined };
  /** Working directory of the process. */
  readonly cwd: string;
  /** Home directory of the user, never used as a project unless named explicitly. */
  readonly home: string;
  /**
   * Time limit of a search in ms, including the wait for other searches. A search that times out
   * returns its results so far. Default: 20,000.
   */
  readonly searchTimeoutMs?: number;
  /** Called with the chosen project after each roots update. */
  readonly chdir?: (directory: string) => void;
}

/** The root that a tool call works in. */
export interface EnteredRoot {
  readonly root: UsableRoot;
  /** All usable roots. Relative paths are relative to `root`. */
  readonly boundary: Boundary;
  /**
   * Returns a note if the root comes from a fallback. Undefined once the session has received it.
   */
  takeNote(): string | undefined;
  /** Generation of the roots report behind the choice. */
  readonly generation: number;
}

export interface Workspace {
  /** Chooses a project for a roots report. */
  chooseFor(report: RootsReport): Promise<ProjectChoice>;
  /**
   * Returns the current choice with its roots report. Waits for the roots as `context.roots()`
   * does.
   */
  choose(context: HandlerContext): Promise<{ choice: ProjectChoice; report: RootsReport }>;
  /** Records that the session has seen the note about the current fallback. */
  markNotified(choice: ProjectChoice): void;
  /**
   * Resolves the root of a call. Default: the first usable root.
   *
   * @throws {ToolError} NO_PROJECT, UNKNOWN_ROOT, AMBIGUOUS_ROOT, ROOT_UNAVAILABLE
   */
  enter(context: HandlerContext, asked: string | undefined): Promise<EnteredRoot>;
  /**
   * Runs a search within the process-wide concurrency limit. `signal` is aborted if the client
   * cancels or the root becomes unusable. `deadline` is aborted after `timeoutMs` (default: the
   * workspace's search timeout); the search must then return its results so far.
   *
   * @throws {ToolError} ROOT_REMOVED if its root was removed, SEARCH_TIMED_OUT if the deadline
   * passed
   * while waiting for other searches
   */
  search<T>(
    entered: EnteredRoot,
    context: HandlerContext,
    run: (signal: AbortSignal, deadline: AbortSignal) => Promise<T>,
    timeoutMs?: number,
  ): Promise<T>;
  /** Applies a roots update: aborts searches in removed roots and calls `chdir`. */
  rootsUpdated(report: RootsReport): void;
}

/** Shared by all sessions of the process. */
const searches = semaphore(4);

/** Creates the workspace of one session. */
export function createWorkspace(sources: WorkspaceSources): Workspace {
  const running = new Set<{ readonly root: UsableRoot; readonly controller: AbortController }>();
  let newest: RootsReport | undefined;
  let chdirProblem: string | undefined;
  /** The fallback note the session last received. */
  let lastNote: string | undefined;
  const readDirectory = directoryReader();
  // Resolve the configured paths now, so that later changes cannot redirect them.
  void readSources(sources, readDirectory);

  const chooseFor = async (report: RootsReport): Promise<ProjectChoice> => {
    const readings = { ...(await readSources(sources, readDirectory)), report };
    const choice = await primaryFirst(chooseProject(readings), sources.primaryRoot);
    if (chdirProblem === undefined) return choice;
    return { ...choice, warnings: [...choice.warnings, chdirProblem] };
  };

  const applyUpdate = async (report: RootsReport): Promise<void> => {
    const { usable } = await chooseFor(report);
    if (newest !== report) return;
    for (const { root, controller } of running) {
      if (usable.some(({ path }) => contains(path, root.path))) continue;
      const message = `Search aborted: ${quoted(root.path)} is no longer a root of this session.`;
      controller.abort(new ToolError(message, { code: 'ROOT_REMOVED' }));
    }
    const [project] = usable;
    if (sources.chdir === undefined || project === undefined) return;
    chdirProblem = await tryChdir(sources.chdir, project);
  };

  const workspace: Workspace = {
    chooseFor,

    async choose(context) {
      const report = await context.roots();
      return { choice: await chooseFor(report), report };
    },

    markNotified(choice) {
      lastNote = fallbackNote(choice);
    },

    async enter(context, asked) {
      const { choice, report } = await workspace.choose(context);
      const [first, ...others] = choice.usable;
      if (first === undefined)
        throw new ToolError(noProjectMessage(choice), { code: 'NO_PROJECT' });
      const root = await selectRoot([first, ...others], asked);
      await assertRootAvailable(root);
      return {
        root,
        boundary: { directories: choice.usable, base: root },
        takeNote: () => {
          const note = fallbackNote(choice);
          const isNew = note !== lastNote || isSessionless(context);
          lastNote = note;
          return isNew ? note : undefined;
        },
        generation: report.generation,
      };
    },

    async search(
      { root, generation },
      context,
      run,
      timeoutMs = sources.searchTimeoutMs ?? defaultSearchTimeoutMs,
    ) {
      const entry = { root, controller: new AbortController() };
      const { signal } = entry.controller;
      running.add(entry);
      // An update between choosing the root and this line missed the search: apply it again.
      if (newest !== undefined && newest.generation > generation) void applyUpdate(newest);
      const ending = AbortSignal.any([context.signal, signal]);
      const { deadline, clear } = deadlineIn(timeoutMs);
      try {
        const endTurn = await searches.acquire(AbortSignal.any([ending, deadline]));
        try {
          return await run(ending, deadline);
        } finally {
          endTurn();
        }
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        throw error;
      } finally {
        clear();
        running.delete(entry);
      }
    },

    rootsUpdated(report) {
      newest = report;
      void applyUpdate(report);
    },
  };
  return workspace;
}

/**
 * Moves the primary root to the front, which makes it the project. If no root matches, there is no
 * project, because any other would be a guess.
 */
async function primaryFirst(
  choice: ProjectChoice,
  primary: PrimaryRoot = 'first',
): Promise<ProjectChoice> {
  const { usable, source, skipped } = choice;
  if (primary === 'first' || source !== 'roots') return choice;
  const report: RootsReport = { status: 'known', generation: 0, settled: true, roots: usable };
  try {
    const { path } = (await rootsBoundary(report, { primary })).base;
    const isBase = (root: UsableRoot) => root.path === path;
    const others = usable.filter((root) => !isBase(root));
    return { ...choice, usable: [...usable.filter(isBase), ...others], isPrimary: true };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    const reason = error.message.replace(/\.$/, '');
    const none = { source, reason } as const;
    const [argument, ...rest] = skipped;
    const reasons =
      argument?.source === 'argument' ? [argument, none, ...rest] : [none, ...skipped];
    return { ...choice, usable: [], source: undefined, skipped: reasons };
  }
}

/** Sessionless clients share a workspace, so a note shown to one is unknown to the others. */
function isSessionless({ http }: HandlerContext): boolean {
  return http !== undefined && http.header('mcp-session-id') === undefined;
}

async function readSources(sources: WorkspaceSources, readDirectory: DirectoryReader) {
  const { directories = [], followRoots = false, projectPath, environment, cwd, home } = sources;
  const variable = environment?.MCP_PROJECT_PATH ?? '';
  const [given, query, env, cwdReading, homeCheck] = await Promise.all([
    Promise.all(directories.map((directory) => readDirectory(directory, 'A directory'))),
    projectPath === undefined ? undefined : readDirectory(projectPath, 'project_path'),
    variable === '' ? undefined : readDirectory(variable, 'MCP_PROJECT_PATH'),
    readDirectory(cwd, 'The working directory'),
    checkDirectory(home),
  ]);
  return {
    directories: given,
    followRoots,
    ...(query === undefined ? {} : { query }),
    ...(env === undefined ? {} : { env }),
    cwd: cwdReading,
    home: homeCheck.ok ? homeCheck.path : home,
  };
}

type DirectoryReader = (given: string, what: string) => Promise<InspectedDirectory>;

/**
 * Resolves directories named by the user. A directory that was usable keeps its first resolution,
 * so that redirecting a path later cannot move the boundary.
 */
function directoryReader(): DirectoryReader {
  const settled = new Map<string, InspectedDirectory>();
  return async (given, what) => {
    if (!isAbsolute(given)) {
      const message = `${what} must be an absolute path, got ${quoted(given)}`;
      return { given, check: { ok: false, code: 'INACCESSIBLE', message } };
    }
    const known = settled.get(given);
    if (known !== undefined) return known;
    const reading = { given, check: await checkDirectory(given) };
    // Of two concurrent reads, the first result counts.
    const first = settled.get(given) ?? reading;
    if (first.check.ok) settled.set(given, first);
    return first;
  };
}

async function tryChdir(
  chdir: (directory: string) => void,
  project: UsableRoot,
): Promise<string | undefined> {
  try {
    await assertRootAvailable(project);
    chdir(project.path);
    return undefined;
  } catch (error) {
    const why = error instanceof ToolError ? error.message : String(error);
    return `Could not change the working directory to ${quoted(project.path)}: ${why}`;
  }
}
