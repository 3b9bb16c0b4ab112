/** What a server has answered, for people and for programs. */
import { isJsonObject, printableJson } from 'mcp-actors/internal';
import type { ContentBlock, JsonObject, ResourceContents } from 'mcp-actors';

/** How a result is printed. */
export type ResultForm =
  /** Its texts; the structured result if it has none. */
  | 'text'
  /** The structured result as JSON; the content if there is none. */
  | 'json'
  /** The whole result as the server sent it, as JSON on one line. */
  | 'raw';

export interface ResultText {
  /** For stdout; ends with a line feed unless it is empty. */
  readonly text: string;
  /** What is not in the text, for a person. */
  readonly leftOut: readonly string[];
}

/** The result of a call. */
export function textOfResult(result: JsonObject, form: ResultForm): ResultText {
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
      return { leftOut: `content of the type ${JSON.stringify((block as JsonObject)['type'])}` };
  }
}

/** One of the contents of a resource. */
export function partOfResource(contents: ResourceContents): Part {
  if (!isJsonObject(contents)) return { leftOut: 'contents that cannot be read' };
  if ('text' in contents) return { text: String(contents.text) };
  return {
    leftOut: `${contents.uri} (${contents.mimeType ?? 'binary'}, ${bytesIn(contents.blob)} bytes)`,
  };
}

/** The length of base64, decoded. */
const bytesIn = (base64: unknown): number =>
  typeof base64 === 'string' ? Math.floor((base64.replace(/=+$/, '').length * 3) / 4) : 0;
