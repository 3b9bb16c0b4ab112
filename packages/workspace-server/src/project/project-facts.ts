/** What a project says of itself: its branch, and the scripts and targets that it declares. */
import { printable } from 'mcp-actors/internal';
import { openInside } from 'mcp-actors/roots';
import type { Boundary } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import { scriptFiles } from './declared-scripts.ts';
import type { Reading, ScriptFile } from './declared-scripts.ts';
import { readGitHead } from './git-head.ts';
import type { GitHead } from './git-head.ts';
import { nextSlice } from '../globs/time-slices.ts';
import { readWhole } from '../text/read-text.ts';

export interface ScriptSource {
  readonly file: string;
  /** What runs one of them: `npm run`; empty if they are commands of their own. */
  readonly runner: string;
  /** At most a hundred, as they stand in the file. */
  readonly names: readonly string[];
  /** Why the file could not be read, or that it declares more than is listed. */
  readonly problem?: string;
}

export interface ProjectFacts {
  readonly git?: GitHead;
  /** One for each file that declares something or cannot be read. */
  readonly scripts: readonly ScriptSource[];
}

/** Larger files are reported, not read. */
const maxFileBytes = 1024 * 1024;
/**
 * How many scripts of one file are listed. Overlong names are left out: a shortened name would be
 * another one.
 */
const maxScripts = 100;
const maxNameCharacters = 200;
/** What is listed of all files, characters. */
const maxListedCharacters = 8000;
/** A directory called `makefile` declares nothing. */
const absent: ReadonlySet<string> = new Set(['NOT_FOUND', 'NOT_A_FILE']);

/**
 * Reads a project's facts. A broken file is reported in its place; nothing about a file's content
 * makes it reject.
 */
export async function readProjectFacts(boundary: Boundary): Promise<ProjectFacts> {
  const [git, read] = await Promise.all([
    readGitHead(boundary),
    Promise.all(scriptFiles.map((kind) => readScripts(boundary, kind))),
  ]);
  const byFile = new Map<string, ScriptSource>();
  for (const source of read) {
    // On a file system that ignores case, `makefile` and `Makefile` are one file.
    const key = source?.file.toLowerCase();
    if (source !== undefined && key !== undefined && !byFile.has(key)) byFile.set(key, source);
  }
  const scripts = listed([...byFile.values()]);
  return git === undefined ? { scripts } : { git, scripts };
}

/** The sources that fit into a result; the others are counted. */
function listed(sources: readonly ScriptSource[]): readonly ScriptSource[] {
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
    const problem = `${declared} are declared, ${names.length} are listed: at most ${maxScripts} of a file and ${maxListedCharacters} characters of all, with names of at most ${maxNameCharacters}`;
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
    const names = await inTurns(read(text.replace(/^\uFEFF/, '')));
    return names.length === 0 ? undefined : { file, runner, names };
  } catch (error) {
    if (error instanceof ToolError && absent.has(error.code ?? '')) return undefined;
    if (error instanceof ToolError || error instanceof SyntaxError) {
      // The parser's words quote the file.
      return { file, runner, names: [], problem: printable(error.message, 1000) };
    }
    throw error;
  }
}

/** Lets the event loop turn after each piece. */
async function inTurns(reading: Reading): Promise<string[]> {
  for (;;) {
    const { done, value } = reading.next();
    if (done) return value;
    await nextSlice(unstoppable);
  }
}

/** The reading is never aborted: its result serves the next caller too. */
const unstoppable = new AbortController().signal;

async function readText(boundary: Boundary, file: string): Promise<string | undefined> {
  const { handle, stats } = await openInside(boundary, file);
  try {
    return stats.size > maxFileBytes ? undefined : await readWhole(handle, maxFileBytes);
  } finally {
    await handle.close();
  }
}
