/** Formats results for people and programs. */
import { isJsonObject, printableJson } from 'mcp-actors/internal';
import type { ContentBlock, JsonObject, ResourceContents } from 'mcp-actors';

/** Output format of a result. */
export type ResultForm =
  /** Text content, or the structured result without any. */
  | 'text'
  /** The structured result as JSON, or the content without one. */
  | 'json'
  /** The whole result as the server sent it, as JSON on one line. */
  | 'raw';

export interface ResultText {
  /** Text for stdout. Ends with a line feed unless empty. */
  readonly text: string;
  /** Descriptions of omitted content. */
  readonly leftOut: readonly string[];
}

/** Formats the result of a call. */
export function formatResult(result: JsonObject, form: ResultForm): ResultText {
  if (form === 'raw') return { text: `${printableJson(result)}\n`, leftOut: [] };
  const content = (Array.isArray(result['content']) ? result['content'] : []) as ContentBlock[];
  const structured = result['structuredContent'];
  if (form === 'json') return { text: pretty(structured ?? content), leftOut: [] };
  const parts = content.map(partOf);
  const texts = parts.flatMap(({ text }) => text ?? []);
  const leftOut = parts.flatMap((part) => part.leftOut ?? []);
  if (texts.length === 0 && structured !== undefined) return { text: pretty(structured), leftOut };
  return { text: texts.map(ended).join(''), leftOut };
}

const pretty = (value: unknown): string => `${printableJson(value, 2)}\n`;
const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

interface Part {
  readonly text?: string;
  readonly leftOut?: string;
}

function partOf(block: ContentBlock): Part {
  switch (block.type) {
    case 'text':
      return { text: String(block.text) };
    case 'image':
    case 'audio':
      return { leftOut: `${block.type} (${block.mimeType}, ${bytesIn(block.data)} bytes)` };
    case 'resource_link':
      return { text: `${block.title ?? block.name}: ${block.uri}` };
    case 'resource':
      return partOfResource(block.resource);
    default:
      return { leftOut: `content of type ${JSON.stringify((block as JsonObject)['type'])}` };
  }
}

/** Formats one item of a resource's contents. */
export function partOfResource(contents: ResourceContents): Part {
  if (!isJsonObject(contents)) return { leftOut: 'invalid contents' };
  if ('text' in contents) return { text: String(contents.text) };
  return {
    leftOut: `${contents.uri} (${contents.mimeType ?? 'binary'}, ${bytesIn(contents.blob)} bytes)`,
  };
}

/** Decoded length of base64 text. */
const bytesIn = (base64: unknown): number =>
  typeof base64 === 'string' ? Math.floor((base64.replace(/=+$/, '').length * 3) / 4) : 0;
