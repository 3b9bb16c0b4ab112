/** Tool names and descriptions derived from a document. */
import { createHash } from 'node:crypto';
import type { Operation } from './operations.ts';

/** Maximum length of tool names that all hosts accept. */
const maxName = 64;

/** Formats an operation as one line, such as `GET /pets`. */
export function formatOperation({ method, path }: Operation): string {
  return cleanLine(`${method} ${path}`);
}

/** Tool names of a document. */
export interface ToolNames {
  readonly of: (operation: Operation) => string;
  /** Operations with the same plain name, by that name. */
  readonly collisions: ReadonlyMap<string, readonly Operation[]>;
}

/**
 * Assigns tool names of letters, digits, `_` and `-`. Colliding names get a digest of method and
 * path, so that names do not depend on the order of operations.
 *
 * @param all every operation of the document, because filters must not affect names
 */
export function nameTools(all: readonly Operation[]): ToolNames {
  const byName = new Map<string, Operation[]>();
  for (const each of all) {
    const name = plainName(each);
    const group = byName.get(name) ?? [];
    byName.set(name, group);
    group.push(each);
  }
  const collisions = new Map([...byName].filter(([, group]) => group.length > 1));
  return {
    collisions,
    of: (operation) => {
      const plain = plainName(operation);
      if (!collisions.has(plain)) return plain;
      const { method, path } = operation;
      const digest = createHash('sha256').update(`${method} ${path}`).digest('hex').slice(0, 8);
      return `${plain.slice(0, maxName - digest.length - 1)}_${digest}`;
    },
  };
}

function plainName({ operationId, method, path }: Operation): string {
  const original = operationId ?? `${method.toLowerCase()} ${path}`;
  const plain = original.replaceAll(/[^A-Za-z0-9_-]+/g, '_').replaceAll(/^_+|_+$/g, '');
  return plain.slice(0, maxName) || 'operation';
}

/**
 * Inline HTML elements used in descriptions. Other text in angle brackets stays: `<id>`, `< 100`.
 */
const inline = [
  ...['a', 'abbr', 'b', 'big', 'code', 'del', 'em', 'font', 'i', 'img', 'ins', 'kbd', 'mark', 's'],
  ...['samp', 'small', 'span', 'strike', 'strong', 'sub', 'sup', 'tt', 'u'],
].join('|');

/** Block-level HTML elements, which separate lines. */
const block = [
  ...[
    'blockquote',
    'br',
    'center',
    'dd',
    'details',
    'div',
    'dl',
    'dt',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
  ],
  ...[
    'h6',
    'hr',
    'li',
    'ol',
    'p',
    'pre',
    'summary',
    'table',
    'tbody',
    'td',
    'tfoot',
    'th',
    'thead',
  ],
  ...['tr', 'ul'],
].join('|');

const attribute = String.raw`\s+[\w:-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=]+)`;

const tagsOf = (elements: string) =>
  new RegExp(String.raw`</?(?:${elements})(?:${attribute})*\s*/?>`, 'gi');

const inlineTags = tagsOf(inline);

const blockTags = tagsOf(block);

const links =
  /!?\[([^\]]{0,200})\]\((?:https?:|mailto:|[/#.])[^()\s]{0,500}(?:\s+"[^"]{0,200}")?\)/gi;

/**
 * Converts a text for models: one line without markup, at most `max` characters, cut between
 * sentences if possible.
 */
export function textForModels(text: string, max: number): string {
  const plain = cleanLine(
    text
      .replaceAll(/<!--[^<>]*-->/g, ' ')
      .replaceAll(blockTags, ' ')
      .replaceAll(inlineTags, '')
      .replaceAll(links, '$1'),
  );
  if (plain.length <= max) return plain;
  const sentence = plain.slice(0, max).lastIndexOf('. ');
  if (sentence > max / 2) return plain.slice(0, sentence + 1);
  return `${plain.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/**
 * Removes line breaks, control characters, and invisible or bidirectional formatting characters.
 */
function cleanLine(text: string): string {
  return text
    .replaceAll(/(?![\t\n\r\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}]/gu, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
