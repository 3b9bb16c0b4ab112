/** Checks of what handlers give as content. They are user code: it may be anything. */
import { describe, isJsonObject } from '../protocol/classify.ts';

/** The members that a block of each type must have, all of them strings but `resource`. */
const members: { readonly [type: string]: readonly string[] } = {
  text: ['text'],
  image: ['data', 'mimeType'],
  audio: ['data', 'mimeType'],
  resource_link: ['uri', 'name'],
  resource: [],
};

/** What is wrong with a content block; undefined where nothing is. */
export function faultOfBlock(block: unknown): string | undefined {
  if (!isJsonObject(block)) return `must be an object, this is ${describe(block)}`;
  const { type, resource, data } = block;
  const needed = typeof type === 'string' && Object.hasOwn(members, type) && members[type];
  if (!needed) {
    return `must have a type of ${Object.keys(members).join(', ')}; this is ${describe(type)}`;
  }
  if (type === 'resource') {
    const fault = faultOfContents(resource);
    return fault === undefined ? undefined : `has a "resource" that ${fault}`;
  }
  const missing = needed.find((member) => typeof block[member] !== 'string');
  if (missing !== undefined) {
    return `must have a string "${missing}", this is ${describe(block[missing])}`;
  }
  return needed.includes('data') && !isBase64(data) ? 'has "data" that is no base64' : undefined;
}

/** What is wrong with the contents of a resource; undefined where nothing is. */
export function faultOfContents(contents: unknown): string | undefined {
  if (!isJsonObject(contents)) return `must be an object, this is ${describe(contents)}`;
  const { uri, mimeType, text, blob } = contents;
  if (typeof uri !== 'string') return `must have a string "uri", this is ${describe(uri)}`;
  if (mimeType !== undefined && typeof mimeType !== 'string') {
    return `must have a string "mimeType" or none, this is ${describe(mimeType)}`;
  }
  if (typeof text === 'string') return undefined;
  if (blob === undefined) return `must have a string "text" or "blob", "text" is ${describe(text)}`;
  return isBase64(blob) ? undefined : `must have base64 in "blob", this is ${describe(blob)}`;
}

/** @see MCP 2025-11-25, server/resources, "Security Considerations": binary data must be properly encoded */
function isBase64(value: unknown): boolean {
  return (
    typeof value === 'string' && value.length % 4 === 0 && !/[^A-Za-z0-9+/=]|=[^=]|===/.test(value)
  );
}
