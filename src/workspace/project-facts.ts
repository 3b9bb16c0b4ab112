/** What a project says of itself: its branch, and the scripts and targets that it declares. */
import { ToolError } from '../protocol/errors.ts';
import type { Boundary } from './boundary.ts';
import { scriptFiles } from './declared-scripts.ts';
import type { DeclaredScript, ScriptFile } from './declared-scripts.ts';
import { readGitHead } from './git-head.ts';
import type { GitHead } from './git-head.ts';
import { openInside } from './open-inside.ts';

export interface ScriptSource {
  readonly file: string;
  /** What runs one of them: `npm run`; empty where they are commands of their own. */
  readonly runner: string;
  /** The first hundred. */
  readonly scripts: readonly DeclaredScript[];
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
const maxScripts = 100;
/** A directory called `makefile` declares nothing. */
const absent: ReadonlySet<string> = new Set(['NOT_FOUND', 'NOT_A_FILE']);

/** Reads a project's facts. A broken file is reported in its place; nothing about a file's content makes it reject. */
export async function readProjectFacts(boundary: Boundary): Promise<ProjectFacts> {
  const [git, read] = await Promise.all([
    readGitHead(boundary.base.path),
    Promise.all(scriptFiles.map((kind) => readScripts(boundary, kind))),
  ]);
  const byFile = new Map<string, ScriptSource>();
  for (const source of read) {
    // On a file system that ignores case, `makefile` and `Makefile` are one file.
    const key = source?.file.toLowerCase();
    if (source !== undefined && key !== undefined && !byFile.has(key)) byFile.set(key, source);
  }
  const scripts = [...byFile.values()];
  return git === undefined ? { scripts } : { git, scripts };
}

async function readScripts(
  boundary: Boundary,
  { file, runner, read }: ScriptFile,
): Promise<ScriptSource | undefined> {
  try {
    const text = await readText(boundary, file);
    if (text === undefined) {
      return { file, runner, scripts: [], problem: `larger than ${maxFileBytes} bytes` };
    }
    const scripts = read(text.replace(/^\uFEFF/, ''));
    if (scripts.length === 0) return undefined;
    if (scripts.length <= maxScripts) return { file, runner, scripts };
    const problem = `${scripts.length} are declared, the first ${maxScripts} are listed`;
    return { file, runner, scripts: scripts.slice(0, maxScripts), problem };
  } catch (error) {
    if (error instanceof ToolError && absent.has(error.code ?? '')) return undefined;
    if (error instanceof ToolError || error instanceof SyntaxError) {
      return { file, runner, scripts: [], problem: error.message };
    }
    throw error;
  }
}

async function readText(boundary: Boundary, file: string): Promise<string | undefined> {
  const { handle, stats } = await openInside(boundary, file);
  try {
    return stats.size > maxFileBytes ? undefined : await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}
