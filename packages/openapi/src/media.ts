/** Media types and text encoding. */

/** True for `application/json` and types with the suffix `+json`. */
export function isJsonType(mediaType: string): boolean {
  return /^application\/json\b|[/+]json\s*(;|$)/i.test(mediaType);
}

/** True for `application/xml`, `text/xml` and types with the suffix `+xml`. */
export function isXmlType(mediaType: string): boolean {
  return /[/+]xml\s*(;|$)/i.test(mediaType);
}

/**
 * Decodes text in the charset of its media type. Falls back to UTF-8 for a missing or unknown
 * charset.
 */
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

/** Replaces lone surrogates, which UTF-8 cannot encode. */
export function wellFormed(text: string): string {
  return text.replaceAll(loneSurrogates, '\uFFFD');
}
