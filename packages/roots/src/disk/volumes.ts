/** Finds the volume of a path without accessing the volume, because a dead one would not answer. */
import { systemClock } from '../../../../src/actors/clock.ts';
import { readFileSync } from 'node:fs';
import { parse, relative, sep } from 'node:path';

/** Lifetime of the cached mount table, milliseconds. */
const tableMs = 10_000;

let mounts: { readonly readAt: number; readonly points: readonly string[] } | undefined;

/**
 * Name of the volume of an absolute path, without following links: the mount point on Linux,
 * elsewhere the first two directories, which distinguish network volumes (`/Volumes/name`,
 * `\\host\share\`, `/net/host`).
 */
export function volumeOf(path: string): string {
  if (process.platform !== 'linux') return firstDirectories(path);
  const now = systemClock.now();
  if (mounts === undefined || now - mounts.readAt > tableMs) {
    mounts = { readAt: now, points: readMountPoints() };
  }
  return mounts.points.find((point) => isBelow(path, point)) ?? firstDirectories(path);
}

/** Mount points in a table with the format of `/proc/self/mountinfo`, longest first. */
export function mountPointsOf(table: string): readonly string[] {
  const points = table.split('\n').flatMap((line) => line.split(' ', 5)[4] ?? []);
  return points
    .map((point) => point.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => character(octal)))
    .toSorted((left, right) => right.length - left.length);
}

function character(octal: string): string {
  return String.fromCharCode(Number.parseInt(octal, 8));
}

/** The kernel answers from memory, even while a volume hangs. */
function readMountPoints(): readonly string[] {
  try {
    return mountPointsOf(readFileSync('/proc/self/mountinfo', 'utf8'));
  } catch {
    // Without /proc, fall back to directory names.
    return [];
  }
}

function isBelow(path: string, point: string): boolean {
  return path === point || path.startsWith(point.endsWith('/') ? point : `${point}/`);
}

function firstDirectories(path: string): string {
  const { root } = parse(path);
  return root + relative(root, path).split(sep).slice(0, 2).join(sep);
}
