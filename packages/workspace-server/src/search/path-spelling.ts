/**
 * Finds paths spelled differently from the names on disk: in another Unicode normalization form, or
 * with the escapes of our own output (`\u001b`).
 */
import { isAbsolute, join, relative, sep } from 'node:path';
import { contains, disk, printable, quoted } from 'mcp-actors/internal';
import { resolveInside } from 'mcp-actors/roots';
import type { Boundary } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';

/**
 * Finds the existing path that `given` spells differently.
 *
 * @returns undefined if nothing exists under any spelling; relative for a relative path
 * @throws {ToolError} errors of `resolveInside`
 */
export async function findSpelling(boundary: Boundary, given: string): Promise<string | undefined> {
  // Plain ASCII names have a single spelling, except in encoded URIs.
  if (!/[^\x20-\x7e]|[\\%]/.test(given)) return undefined;
  const found = await resolveInside(boundary, given);
  const isRelative = !isAbsolute(given) && !/^file:[/\\]/i.test(given);
  const start = isRelative
    ? '.'
    : boundary.directories.find(({ path }) => contains(path, found.path))?.path;
  if (start === undefined) return undefined;
  const path = isRelative ? given : relative(start, found.path);
  let at = start;
  for (const name of path.split(sep === '/' ? '/' : /[/\\]/).filter(Boolean)) {
    const same = join(at, name);
    if ((await resolveInside(boundary, same)).exists) at = same;
    else {
      const other = await findName(boundary, at, name);
      if (other === undefined) return undefined;
      at = join(at, other);
    }
  }
  return isRelative ? at.replaceAll(sep, '/') : at;
}

/** Finds the existing path, relative to the root, that equals a glob taken literally. */
export async function findGlobPath(boundary: Boundary, glob: string): Promise<string | undefined> {
  const path = glob.replace(/^(?:\.?\/)+/, '');
  if (path === '') return undefined;
  try {
    const { exists } = await resolveInside(boundary, `./${path}`);
    return exists ? path : await findSpelling(boundary, `./${path}`);
  } catch (error) {
    // The glob is not a path, or the walk will report the same error.
    if (error instanceof ToolError) return undefined;
    throw error;
  }
}

async function findName(
  boundary: Boundary,
  directory: string,
  written: string,
): Promise<string | undefined> {
  const { path } = await resolveInside(boundary, directory);
  try {
    const [entries = []] = await disk.readDirectories([path]);
    // An unreadable directory offers no other spelling.
    if (entries instanceof Error) return undefined;
    const composed = written.normalize();
    return entries.find(({ name }) => name !== written && spells(composed, name))?.name;
  } catch (error) {
    if (disk.systemCode(error) === undefined) throw error;
    return undefined;
  }
}

/** @param written in NFC */
function spells(written: string, name: string): boolean {
  if (name.normalize() === written) return true;
  if (!written.includes('\\')) return false;
  const shown = [printable(name), quoted(name, Infinity).slice(1, -1)];
  return shown.some((text) => text.normalize() === written);
}
