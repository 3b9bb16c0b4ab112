/** Cutting text without halving a character: half of a surrogate pair is no Unicode text. */

/** `text.slice(from, to)`, each end moved inward off the middle of a surrogate pair. */
export function cutText(text: string, from: number, to: number): string {
  const start = afterPair(text, from);
  const end = isLowSurrogate(text, to) ? to - 1 : to;
  return text.slice(start, Math.max(start, end));
}

/** `index`, moved behind a surrogate pair that it would halve. */
export function afterPair(text: string, index: number): number {
  return isLowSurrogate(text, index) ? index + 1 : index;
}

function isLowSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return index > 0 && unit >= 0xdc00 && unit <= 0xdfff;
}
