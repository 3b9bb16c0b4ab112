/** Makes a sequence that breaks an invariant as short as it can be. */

/**
 * The shortest part of a sequence that still fails, in that no element can be left out of it. Halves are tried first, then
 * quarters, and so on down to single elements.
 *
 * @param items what fails
 * @param fails whether a part of it still fails; the order stays
 * @param limit how many parts are tried at most
 */
export async function shrink<T>(
  items: readonly T[],
  fails: (part: readonly T[]) => Promise<boolean>,
  limit = Infinity,
): Promise<readonly T[]> {
  let best = items;
  let tried = 0;
  for (let size = Math.ceil(items.length / 2); size >= 1 && best.length > 0;) {
    let shorter: readonly T[] | undefined;
    for (let at = 0; at < best.length && tried < limit && !shorter; at += size) {
      const part = [...best.slice(0, at), ...best.slice(at + size)];
      tried++;
      if (await fails(part)) shorter = part;
    }
    if (tried >= limit && !shorter) return best;
    if (shorter) best = shorter;
    // Single elements are tried again as long as one can be left out.
    if (!shorter) size = size === 1 ? 0 : Math.ceil(size / 2);
    else size = Math.min(size, Math.max(1, Math.ceil(best.length / 2)));
  }
  return best;
}
