/**
 * Edits JSON with comments. jsonc-parser's `modify` is unsuitable, because it removes or moves
 * comments next to the edited member.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  applyEdits,
  createScanner,
  getNodeValue,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import type { Edit, Node, ParseError } from 'jsonc-parser';
import { isJsonObject, quoted } from 'mcp-actors/internal';
import { FileFault, endOfLine, staleKeys } from './entry-format.ts';
import type { EntryFormat } from './entry-format.ts';

/** JSON, optionally with comments and trailing commas. */
export const jsoncFile: EntryFormat = {
  read: (text, path) => {
    const node = nodeAt(text, path);
    return node && (getNodeValue(node) as unknown);
  },
  write: (text, path, entry) => {
    const source = text.trim() === '' ? `{}${endOfLine(text)}` : text;
    const present = jsoncFile.read(source, path);
    if (!isJsonObject(present)) return withMember(source, path, entry);
    const cleared = staleKeys(present, entry).reduce(
      (edited, key) => withoutMember(edited, [...path, key]),
      source,
    );
    return Object.entries(entry).reduce(
      (edited, [key, value]) => withMember(edited, [...path, key], value),
      cleared,
    );
  },
  remove: (text, path) => withoutMember(text, path),
};

function parsed(text: string): Node {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first) {
    const column = first.offset - text.lastIndexOf('\n', first.offset - 1);
    throw new FileFault(
      `line ${lineOf(text, first.offset)}, column ${column}: invalid JSON (${printParseErrorCode(first.error)})`,
    );
  }
  if (root?.type !== 'object') throw new FileFault('line 1: must be a JSON object');
  return root;
}

/**
 * Finds the value at a path; undefined if absent.
 *
 * @throws {FileFault} if the path leads through a non-object or a key appears twice
 */
function nodeAt(text: string, path: readonly string[]): Node | undefined {
  let node: Node | undefined = parsed(text);
  for (const [depth, key] of path.entries()) {
    const fault = (length: number, what: string) =>
      new FileFault(
        `line ${lineOf(text, node?.offset ?? 0)}: ${quoted(path.slice(0, length).join('.'))} ${what}`,
      );
    if (node.type !== 'object') throw fault(depth, 'must be an object');
    const members: readonly Node[] = (node.children ?? []).filter(
      ({ children }) => children?.[0]?.value === key,
    );
    if (members.length > 1) throw fault(depth + 1, 'appears twice, remove one');
    node = members[0]?.children?.[1];
    if (node === undefined) return undefined;
  }
  return node;
}

const lineOf = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;

/** Sets the value at a path, creating objects on the way. */
function withMember(text: string, path: readonly string[], value: unknown): string {
  const unit = indentUnit(text);
  const eol = endOfLine(text);
  const written = (what: unknown, indent: string): string =>
    JSON.stringify(what, undefined, unit).replaceAll('\n', eol + indent);
  const present = nodeAt(text, path);
  if (present) {
    // Keep the formatting of an equal value.
    if (isDeepStrictEqual(getNodeValue(present), value)) return text;
    const content = written(value, indentAt(text, present.offset));
    return applyEdits(text, [{ offset: present.offset, length: present.length, content }]);
  }
  const depth = path.findLastIndex((_, at) => nodeAt(text, path.slice(0, at)) !== undefined);
  const parent = nodeAt(text, path.slice(0, depth)) as Node;
  if (parent.type !== 'object') nodeAt(text, path.slice(0, depth + 1));
  const inner = path.slice(depth + 1).reduceRight((within, key) => ({ [key]: within }), value);
  const outer = indentAt(text, parent.offset);
  const last = parent.children?.at(-1);
  const indent = last && isFirstOnLine(text, last) ? indentAt(text, last.offset) : outer + unit;
  const hasComma = last !== undefined && commaAfter(text, endOf(last)) !== undefined;
  const member = `${indent}${JSON.stringify(path[depth])}: ${written(inner, indent)}${hasComma ? ',' : ''}`;
  const brace = endOf(parent) - 1;
  const before = text.slice(0, brace);
  const spaces = /[ \t]*$/.exec(before)?.[0].length ?? 0;
  const isAlone = before.endsWith('\n', brace - spaces);
  const edits: Edit[] =
    last === undefined || hasComma ? [] : [{ offset: endOf(last), length: 0, content: ',' }];
  edits.push(
    isAlone
      ? { offset: brace - spaces, length: 0, content: member + eol }
      : { offset: brace - spaces, length: spaces, content: eol + member + eol + outer },
  );
  return applyEdits(text, edits);
}

/** Removes a member with one comma, and its lines if nothing else is on them. */
function withoutMember(text: string, path: readonly string[]): string {
  const member = nodeAt(text, path)?.parent;
  if (member === undefined) return text;
  const siblings = member.parent?.children ?? [];
  const previous = siblings[siblings.indexOf(member) - 1];
  const own = commaAfter(text, endOf(member));
  const before = previous && own === undefined ? commaAfter(text, endOf(previous)) : undefined;
  // Keep a comment between the member and its comma.
  const isNext = own !== undefined && text.slice(endOf(member), own).trim() === '';
  const start = member.offset;
  const end = isNext ? own + 1 : endOf(member);
  const lineStart = start - (/[ \t]*$/.exec(text.slice(0, start))?.[0].length ?? 0);
  const rest = /^[ \t]*(?:\r?\n)?/.exec(text.slice(end))?.[0] ?? '';
  const isWholeLine = text.endsWith('\n', lineStart) || lineStart === 0;
  const whole = isWholeLine && rest.endsWith('\n');
  const range = whole
    ? { offset: lineStart, length: end + rest.length - lineStart }
    : { offset: start, length: end - start };
  const commas = [before, isNext ? undefined : own].filter((at) => at !== undefined);
  return applyEdits(text, [
    { ...range, content: '' },
    ...commas.map((offset) => ({ offset, length: 1, content: '' })),
  ]);
}

const endOf = ({ offset, length }: Node): number => offset + length;

/** Offset of the comma after a value, if any. */
function commaAfter(text: string, offset: number): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  scanner.scan();
  const at = scanner.getTokenOffset();
  return text[at] === ',' ? at : undefined;
}

/** Indentation of the line at an offset. */
function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start))?.[0] ?? '';
}

function isFirstOnLine(text: string, { offset }: Node): boolean {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return start > 0 && text.slice(start, offset).trim() === '';
}

/** Indentation unit of the file, taken from its first indented line. */
function indentUnit(text: string): string {
  return /^[ \t]+(?=")/m.exec(text)?.[0] ?? '  ';
}
