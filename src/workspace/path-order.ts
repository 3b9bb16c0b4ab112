/** The order in which ripgrep's `--sort path` walks, so that a listing can go on behind a path. */

/** Negative where `left` comes before `right`: segment by segment, by bytes. */
export function comparePaths(left: string, right: string): number {
  const lefts = left.split('/');
  const rights = right.split('/');
  for (let index = 0; index < Math.min(lefts.length, rights.length); index += 1) {
    const order = Buffer.compare(Buffer.from(lefts[index] ?? ''), Buffer.from(rights[index] ?? ''));
    if (order !== 0) return order;
  }
  return lefts.length - rights.length;
}
