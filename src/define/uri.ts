/**
 * True for an absolute URI: a scheme, and nothing that no URI may contain. Characters that are not ASCII are let through: many hosts do
 * not encode them.
 *
 * @see RFC 3986
 */
export function isUri(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9+.-]*:[^\s"<>\\^`{}\p{Cc}]*$/u.test(text);
}
