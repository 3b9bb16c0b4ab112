/** Which volume a path lies on, without asking the volume: a dead one would not answer. */
import { systemClock } from '../../../../src/actors/clock.ts';
import { readFileSync } from 'node:fs';
import { parse, relative, sep } from 'node:path';

/** How long the table of mounts is believed, milliseconds. */
const tableMs = 10_000;

let mounts: { readonly readAt: number; readonly points: readonly string[] } | undefined;

/**
 * Names the volume of an absolute path as it is written: on Linux its mount point, elsewhere its
 * first two directories, by which network volumes are told apart (`/Volumes/name`, `\\host\share\`,
 * `/net/host`). A link on the way is not followed.
 */
export function volumeOf(path: string): string {
  if (process.platform !== 'linux') return firstDirectories(path);
  const now = systemClock.now();
  if (mounts === undefined || now - mounts.readAt > tableMs) {
    mounts = { readAt: now, points: readMountPoints() };
  }
  return mounts.points.find((point) => isBelow(path, point)) ?? firstDirectories(path);
}

/** The mount points of a table in the form of `/proc/self/mountinfo`, the longest first. */
export function mountPointsOf(table: string): readonly string[] {
  const points = table.split('\n').flatMap((line) => line.split(' ', 5)[4] ?? []);
  return points
    .map((point) => point.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => character(octal)))
    .toSorted((left, right) => right.length - left.length);
}

function character(octal: string): string {
  return String.fromCharCode(Number.parseInt(octal, 8));
}

/** The kernel answers this from its memory, even if a volume hangs. */
function readMountPoints(): readonly string[] {
  try {
    return mountPointsOf(readFileSync('/proc/self/mountinfo', 'utf8'));
  } catch {
    // No /proc here: the names have to do.
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
