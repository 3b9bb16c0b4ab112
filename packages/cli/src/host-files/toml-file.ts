/**
 * Edits one table of TOML. The parser says where statements end, and then whether the edited text
 * says what it should: a text that is written in another way is refused, not guessed at.
 */
import { isDeepStrictEqual } from 'node:util';
import { TomlError, parse } from 'smol-toml';
import { isJsonObject } from 'mcp-actors/internal';
import type { JsonObject } from 'mcp-actors';
import { tomlPair, tomlTable } from '../host-configuration.ts';
import { FileFault, endOfLine, staleKeys } from './entry-format.ts';
import type { EntryFormat, EntryPath } from './entry-format.ts';

/** TOML with a table for each server. */
export const tomlFile: EntryFormat = {
  read: (text, path) => entryIn(parsed(text), path),
  write: (text, path, entry) => {
    const present = tomlFile.read(text, path);
    const eol = endOfLine(text);
    if (!isJsonObject(present)) {
      const gap = text === '' ? '' : text.endsWith('\n') ? eol : eol + eol;
      const table = tomlTable(path, entry).map((line) => line + eol);
      return proven(text, text + gap + table.join(''), path, entry);
    }
    const changed = new Set([
      ...staleKeys(present, entry),
      ...Object.keys(entry).filter((key) => !isSame(present[key], entry[key])),
    ]);
    const pairs = Object.entries(entry).filter(([key]) => changed.has(key));
    const edited = statements(text, path).flatMap((statement) => {
      if (statement.key !== undefined && changed.has(statement.key)) return [];
      const after = statement.isHeader
        ? pairs.map(([key, value]) => tomlPair(key, value) + eol)
        : [];
      const { text: own } = statement;
      return after.length === 0 || own.endsWith('\n') ? [own, ...after] : [own + eol, ...after];
    });
    const wanted: JsonObject = {
      ...Object.fromEntries(Object.entries(present).filter(([key]) => !changed.has(key))),
      ...entry,
    };
    return proven(text, edited.join(''), path, wanted);
  },
  remove: (text, path) => {
    if (tomlFile.read(text, path) === undefined) return text;
    const all = statements(text, path);
    // An empty line before the table goes with it.
    const kept = all.filter(
      ({ isOfTable, text: own }, at) =>
        !isOfTable && !(own.trim() === '' && all[at + 1]?.isOfTable === true),
    );
    return proven(text, kept.map((each) => each.text).join(''), path, undefined);
  },
};

/** One statement, a comment or an empty line, as it is written. */
interface Statement {
  readonly text: string;
  /** Whether it is the header of the table. */
  readonly isHeader: boolean;
  /** Whether it belongs to the table or to a table within it. */
  readonly isOfTable: boolean;
  /** The key that it sets in the table itself, if it sets one. */
  readonly key: string | undefined;
}

/** The text in statements: each is the shortest run of lines that the parser takes. */
function statements(text: string, path: EntryPath): readonly Statement[] {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const found: Statement[] = [];
  let table: readonly string[] = [];
  for (let at = 0; at < lines.length;) {
    let end = at + 1;
    let said = partOf(lines.slice(at, end).join(''));
    while (said === undefined && end < lines.length) {
      end += 1;
      said = partOf(lines.slice(at, end).join(''));
    }
    const statement = lines.slice(at, end).join('');
    const isHeader = /^\s*\[/.test(statement);
    if (isHeader) table = headerPath(said ?? {});
    const isOwn = table.length === path.length && isWithin(table, path);
    found.push({
      text: statement,
      isHeader: isHeader && isOwn,
      isOfTable: isWithin(table, path),
      key: isOwn && !isHeader ? Object.keys(said ?? {})[0] : undefined,
    });
    at = end;
  }
  return withoutLastComments(found);
}

/** Comments and empty lines before the next header, or at the end, are not the table's. */
function withoutLastComments(found: readonly Statement[]): readonly Statement[] {
  return found.map((statement, at) => {
    const next = found.slice(at).find(({ text }) => !/^\s*(?:#|$)/.test(text));
    return next?.isOfTable === true ? statement : { ...statement, isOfTable: false };
  });
}

const isWithin = (table: readonly string[], path: EntryPath): boolean =>
  path.every((key, at) => table[at] === key);

/** The keys of a header, which the parser gives as empty tables within each other. */
function headerPath(said: JsonObject): readonly string[] {
  const [[key, inner] = []] = Object.entries(said);
  if (key === undefined) return [];
  return [key, ...(isJsonObject(inner) ? headerPath(inner) : [])];
}

function partOf(text: string): JsonObject | undefined {
  try {
    return parse(text) as JsonObject;
  } catch {
    return undefined;
  }
}

function parsed(text: string): JsonObject {
  try {
    return parse(text) as JsonObject;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what = ''] = error.message.replace(/^Invalid TOML document: /, '').split('\n');
    throw new FileFault(`line ${error.line}, column ${error.column}: ${what}`, { cause: error });
  }
}

function entryIn(document: JsonObject, [key, name]: EntryPath): unknown {
  const servers = document[key];
  return isJsonObject(servers) ? servers[name] : undefined;
}

/** The parser's tables have no prototype, but their copies have. */
const isSame = (one: unknown, other: unknown): boolean =>
  isDeepStrictEqual(structuredClone(one), structuredClone(other));

/** @throws {FileFault} the edited text is not the old one with this entry */
function proven(
  text: string,
  edited: string,
  path: EntryPath,
  entry: JsonObject | undefined,
): string {
  const [key, name] = path;
  const before = parsed(text);
  const after = partOf(edited);
  const others = (document: JsonObject): JsonObject => {
    const servers = document[key];
    const rest = Object.entries(isJsonObject(servers) ? servers : {}).filter(([at]) => at !== name);
    return { ...document, [key]: Object.fromEntries(rest) };
  };
  const isRight =
    after !== undefined &&
    isSame(entryIn(after, path), entry) &&
    isSame(others(after), others(before));
  if (isRight) return edited;
  throw new FileFault(
    `it does not write ${key}.${name} as a table of its own, [${path.join('.')}], so it cannot be edited: change it by hand`,
  );
}
