/** What the tools of one session share: the choice of the project, and the searches that run. */
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
import { deadlineIn, defaultSearchTimeoutMs, turns } from '../search/search-turns.ts';

export interface WorkspaceSources {
  /** Absolute directories of the command line: a ceiling within which the client's roots choose. */
  readonly directories?: readonly string[];
  /** With true the client's usable roots replace `directories`. */
  readonly followRoots?: boolean;
  /** The project among several roots of the client. Default: `first`. */
  readonly primaryRoot?: PrimaryRoot;
  /** The project that the client asks for in the URL that it connects to. */
  readonly projectPath?: string;
  readonly environment?: { readonly MCP_PROJECT_PATH?: string | undefined };
  /** The process's working directory. */
  readonly cwd: string;
  /** The user's home directory: never used unless it is named explicitly. */
  readonly home: string;
  /**
   * How long a search may take, milliseconds, including its wait for other searches; then it
   * answers with the results so far. 20 s by default.
   */
  readonly searchTimeoutMs?: number;
  /** Called with the chosen project after each roots update. */
  readonly chdir?: (directory: string) => void;
}

/** The root that a tool call works in. */
export interface Entered {
  readonly root: UsableRoot;
  /** All usable roots; relative paths are relative to `root`. */
  readonly boundary: Boundary;
  /**
   * A sentence that says so, if the root rests on a fallback. It is given once: undefined if the
   * session has been told already.
   */
  takeNote(): string | undefined;
  /** The roots report that the choice rests on. */
  readonly generation: number;
}

export interface Workspace {
  /** The choice that this report leads to. */
  chooseFor(report: RootsReport): Promise<ProjectChoice>;
  /**
   * The choice as it stands, and the report that it rests on. Waits for the roots as
   * `context.roots()` does.
   */
  choose(context: HandlerContext): Promise<{ choice: ProjectChoice; report: RootsReport }>;
  /** Notes that the session was told of the choice, if the choice is a fallback. */
  told(choice: ProjectChoice): void;
  /**
   * The root that a call means; the first usable one without `asked`.
   *
   * @throws {ToolError} NO_PROJECT, UNKNOWN_ROOT, AMBIGUOUS_ROOT, ROOT_UNAVAILABLE
   */
  enter(context: HandlerContext, asked: string | undefined): Promise<Entered>;
  /**
   * Runs a search; only a few run at once. Its signal fires when the client cancels it or its root
   * can no longer be used. Its deadline comes after `timeoutMs`, or the workspace's own search
   * time; then it must answer with the results so far.
   *
   * @throws {ToolError} ROOT_REMOVED if its root has gone, SEARCH_TIMED_OUT if it has waited for
   *   others until its deadline
   */
  search<T>(
    entered: Entered,
    context: HandlerContext,
    run: (signal: AbortSignal, deadline: AbortSignal) => Promise<T>,
    timeoutMs?: number,
  ): Promise<T>;
  /**
   * Takes a roots update: ends the searches in roots that are gone, follows the project with
   * `chdir`.
   */
  rootsUpdated(report: RootsReport): void;
}

/** Of all sessions of this process. */
const searches = turns(4);

/** Makes the workspace of one session. */
export function createWorkspace(sources: WorkspaceSources): Workspace {
  const running = new Set<{ readonly root: UsableRoot; readonly controller: AbortController }>();
  let newest: RootsReport | undefined;
  let chdirProblem: string | undefined;
  /** What the session has last been told of a fallback. */
  let told: string | undefined;
  const readDirectory = directoryReader();
  // What the paths of the command line, the environment and the process mean is settled now, not at
  // the first call.
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
      const message = `The search was stopped: ${quoted(root.path)} is not a root of this session any more.`;
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

    told(choice) {
      told = fallbackNote(choice);
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
          const isNew = note !== told || isWithoutSession(context);
          told = note;
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
      // An update that came between choosing the root and this line has not seen the search.
      if (newest !== undefined && newest.generation > generation) void applyUpdate(newest);
      const ending = AbortSignal.any([context.signal, signal]);
      const { deadline, clear } = deadlineIn(timeoutMs);
      try {
        const endTurn = await searches.take(AbortSignal.any([ending, deadline]));
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
 * Puts the primary root first, which makes it the project. Without such a root there is no project: another one would be a
 * guess.
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

/** Clients that keep no session share a workspace: one does not know what another was told. */
function isWithoutSession({ http }: HandlerContext): boolean {
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
 * Reads directories that the user has named. One that could be used once stays what it was then: a
 * path that leads elsewhere later does not move the boundary.
 */
function directoryReader(): DirectoryReader {
  const settled = new Map<string, InspectedDirectory>();
  return async (given, what) => {
    if (!isAbsolute(given)) {
      const message = `${what} must be an absolute path, this is ${quoted(given)}`;
      return { given, check: { ok: false, code: 'INACCESSIBLE', message } };
    }
    const known = settled.get(given);
    if (known !== undefined) return known;
    const reading = { given, check: await checkDirectory(given) };
    // Two calls may have read at once: the first answer counts.
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
    return `The process could not change to ${quoted(project.path)}: ${why}`;
  }
}
