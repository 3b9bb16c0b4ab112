/** The order in which ripgrep's `--sort path` walks, so that a listing can go on behind a path. */

const slash = 0x2f;

/** Negative where `left` comes before `right`: segment by segment, by bytes. */
export function comparePaths(left: string, right: string): number {
  return comparePathBytes(Buffer.from(left), Buffer.from(right));
}

/** The same for paths as the file system has them: a name need not be UTF-8. */
export function comparePathBytes(left: Uint8Array, right: Uint8Array): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const [leftByte, rightByte] = [left[index] ?? 0, right[index] ?? 0];
    if (leftByte === rightByte) continue;
    // A segment that ends comes before one that goes on.
    if (leftByte === slash) return -1;
    return rightByte === slash ? 1 : leftByte - rightByte;
  }
  return left.length - right.length;
}
