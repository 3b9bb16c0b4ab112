/** Media types, and text as UTF-8 holds it. */

/** True for `application/json` and the types that end in `+json`. */
export function isJsonType(mediaType: string): boolean {
  return /^application\/json\b|[/+]json\s*(;|$)/i.test(mediaType);
}

/** True for `application/xml`, `text/xml` and the types that end in `+xml`. */
export function isXmlType(mediaType: string): boolean {
  return /[/+]xml\s*(;|$)/i.test(mediaType);
}

/** Text in the charset its media type names; UTF-8 without one, or if the platform does not know it. */
export function decodeText(bytes: Uint8Array, mediaType: string): string {
  const [, quoted, plain] = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;]+))/i.exec(mediaType) ?? [];
  try {
    return new TextDecoder(quoted ?? plain ?? 'utf-8').decode(bytes);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return new TextDecoder().decode(bytes);
  }
}

const loneSurrogates = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** Replaces lone surrogates, which UTF-8 cannot hold. */
export function wellFormed(text: string): string {
  return text.replaceAll(loneSurrogates, '\uFFFD');
}
