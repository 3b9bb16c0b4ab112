/** Containment by path segment: pure, on paths that are real already. */
import type { PathStyle } from './file-uri.ts';

/**
 * True where `path` is `directory` or lies below it. `/a/b` does not contain `/a/bc`.
 * Both are absolute real paths; on Windows case does not count.
 */
export function contains(directory: string, path: string, style: PathStyle = {}): boolean {
  const windows = style.windows ?? process.platform === 'win32';
  const outer = segments(directory, windows);
  const inner = segments(path, windows);
  if (outer.length === 0) return false;
  // A segment that climbs is no part of a real path: what has one is not judged but refused.
  if (inner.includes('..') || outer.includes('..')) return false;
  return outer.length <= inner.length && outer.every((segment, index) => segment === inner[index]);
}

function segments(path: string, windows: boolean): string[] {
  const parts = windows ? path.toLowerCase().split(/[\\/]+/) : path.split(/\/+/);
  return parts.at(-1) === '' ? parts.slice(0, -1) : parts;
}
