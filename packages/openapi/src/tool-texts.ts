/** Names and texts of tools, made from what a document says. */
import { createHash } from 'node:crypto';
import type { Operation } from './operations.ts';

/** Length that all hosts take for a tool's name. */
const maxName = 64;

/** `GET /pets`, in one line. */
export function callOf({ method, path }: Operation): string {
  return plainLine(`${method} ${path}`);
}

/** The names of a document's tools. */
export interface ToolNames {
  readonly of: (operation: Operation) => string;
  /** Operations whose names collide, by that name. */
  readonly collisions: ReadonlyMap<string, readonly Operation[]>;
}

/**
 * Names the tool of each operation, in letters, digits, `_` and `-`. Each of the operations whose names collide has a
 * digest of its method and path, so that their order does not matter.
 *
 * @param all every operation of the document: filters rename nothing
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

/** Elements that descriptions use within a line. Other text in angle brackets is text: `<id>`, `< 100`. */
const inline = [
  ...['a', 'abbr', 'b', 'big', 'code', 'del', 'em', 'font', 'i', 'img', 'ins', 'kbd', 'mark', 's'],
  ...['samp', 'small', 'span', 'strike', 'strong', 'sub', 'sup', 'tt', 'u'],
].join('|');

/** Elements that end a line. */
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

/** A text for a model: one line, without markup for people, at most `max` characters. */
export function cutForModels(text: string, max: number): string {
  const plain = plainLine(
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

/** Without line feeds, escape sequences, and what is invisible or turns the writing direction. */
function plainLine(text: string): string {
  return text
    .replaceAll(/(?![\t\n\r\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}]/gu, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
