/** Facts a project declares: its branch, scripts and targets. */
import { printable } from 'mcp-actors/internal';
import { openInside } from 'mcp-actors/roots';
import type { Boundary } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import { scriptFiles } from './declared-scripts.ts';
import type { ScriptParse, ScriptFile } from './declared-scripts.ts';
import { readGitHead } from './git-head.ts';
import type { GitHead } from './git-head.ts';
import { nextSlice } from '../globs/time-slices.ts';
import { readWhole } from '../text/read-text.ts';

export interface ScriptSource {
  readonly file: string;
  /** Command that runs the scripts, such as `npm run`; empty if they are commands themselves. */
  readonly runner: string;
  /** Names as written in the file, at most 100. */
  readonly names: readonly string[];
  /** Reason why the file was not read, or the number of names not listed. */
  readonly problem?: string;
}

export interface ProjectFacts {
  readonly git?: GitHead;
  /** One entry per file that declares scripts or could not be read. */
  readonly scripts: readonly ScriptSource[];
}

/** Larger files are reported as too large. */
const maxFileBytes = 1024 * 1024;
/**
 * Scripts listed per file. Overlong names are omitted, because a truncated name would be a
 * different one.
 */
const maxScripts = 100;
const maxNameCharacters = 200;
/** Total characters listed over all files. */
const maxListedCharacters = 8000;
/** A directory named `makefile`, for example, declares nothing. */
const ignoredErrors: ReadonlySet<string> = new Set(['NOT_FOUND', 'NOT_A_FILE']);

/**
 * Reads a project's facts. Broken files are reported in their entry; file content never causes a
 * rejection.
 */
export async function readProjectFacts(boundary: Boundary): Promise<ProjectFacts> {
  const [git, read] = await Promise.all([
    readGitHead(boundary),
    Promise.all(scriptFiles.map((kind) => readScripts(boundary, kind))),
  ]);
  const byFile = new Map<string, ScriptSource>();
  for (const source of read) {
    // On case-insensitive file systems, `makefile` and `Makefile` are the same file.
    const key = source?.file.toLowerCase();
    if (source !== undefined && key !== undefined && !byFile.has(key)) byFile.set(key, source);
  }
  const scripts = truncateLists([...byFile.values()]);
  return git === undefined ? { scripts } : { git, scripts };
}

/** Truncates names to the limits of a result and reports how many are missing. */
function truncateLists(sources: readonly ScriptSource[]): readonly ScriptSource[] {
  let room = maxListedCharacters;
  return sources.map((source) => {
    const names: string[] = [];
    for (const name of source.names) {
      if (name.length > maxNameCharacters) continue;
      if (names.length === maxScripts || name.length > room) break;
      names.push(name);
      room -= name.length;
    }
    const declared = source.names.length;
    if (names.length === declared) return source;
    const problem = `${names.length} of ${declared} scripts listed: at most ${maxScripts} per file, ${maxListedCharacters} characters in total, and ${maxNameCharacters} characters per name`;
    return { ...source, names, problem };
  });
}

async function readScripts(
  boundary: Boundary,
  { file, runner, read }: ScriptFile,
): Promise<ScriptSource | undefined> {
  try {
    const text = await readText(boundary, file);
    if (text === undefined) {
      return { file, runner, names: [], problem: `larger than ${maxFileBytes} bytes` };
    }
    const names = await runInSlices(read(text.replace(/^\uFEFF/, '')));
    return names.length === 0 ? undefined : { file, runner, names };
  } catch (error) {
    if (error instanceof ToolError && ignoredErrors.has(error.code ?? '')) return undefined;
    if (error instanceof ToolError || error instanceof SyntaxError) {
      // Parser messages quote the file, so make them printable.
      return { file, runner, names: [], problem: printable(error.message, 1000) };
    }
    throw error;
  }
}

/** Runs a parse in time slices. */
async function runInSlices(reading: ScriptParse): Promise<string[]> {
  for (;;) {
    const { done, value } = reading.next();
    if (done) return value;
    await nextSlice(neverAborted);
  }
}

/** Never aborted, because later callers share the result. */
const neverAborted = new AbortController().signal;

async function readText(boundary: Boundary, file: string): Promise<string | undefined> {
  const { handle, stats } = await openInside(boundary, file);
  try {
    return stats.size > maxFileBytes ? undefined : await readWhole(handle, maxFileBytes);
  } finally {
    await handle.close();
  }
}
