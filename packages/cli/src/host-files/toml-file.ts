/**
 * Edits one TOML table. The parser finds the ends of statements and verifies the edited text. Files
 * in an unexpected form are rejected rather than guessed at.
 */
import { isDeepStrictEqual } from 'node:util';
import { TomlError, parse } from 'smol-toml';
import { isJsonObject } from 'mcp-actors/internal';
import type { JsonObject } from 'mcp-actors';
import { tomlPair, tomlTable } from '../host-configuration.ts';
import { FileFault, endOfLine, staleKeys } from './entry-format.ts';
import type { EntryFormat, EntryPath } from './entry-format.ts';

/** TOML with one table per server. */
export const tomlFile: EntryFormat = {
  read: (text, path) => entryIn(parsed(text), path),
  write: (text, path, entry) => {
    const present = tomlFile.read(text, path);
    const eol = endOfLine(text);
    if (!isJsonObject(present)) {
      const gap = text === '' ? '' : text.endsWith('\n') ? eol : eol + eol;
      const table = tomlTable(path, entry).map((line) => line + eol);
      return verifiedEdit(text, text + gap + table.join(''), path, entry);
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
    return verifiedEdit(text, edited.join(''), path, wanted);
  },
  remove: (text, path) => {
    if (tomlFile.read(text, path) === undefined) return text;
    const all = statements(text, path);
    // Remove the empty line before the table, too.
    const kept = all.filter(
      ({ isOfTable, text: own }, at) =>
        !isOfTable && !(own.trim() === '' && all[at + 1]?.isOfTable === true),
    );
    return verifiedEdit(text, kept.map((each) => each.text).join(''), path, undefined);
  },
};

/** Source text of a statement, comment or empty line. */
interface Statement {
  readonly text: string;
  /** True for the header of the table. */
  readonly isHeader: boolean;
  /** True for parts of the table or its subtables. */
  readonly isOfTable: boolean;
  /** Key that the statement sets in the table, if any. */
  readonly key: string | undefined;
}

/** Splits the text into statements: the shortest runs of lines that parse. */
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

/** Excludes comments and empty lines before the next header or at the end from the table. */
function withoutLastComments(found: readonly Statement[]): readonly Statement[] {
  return found.map((statement, at) => {
    const next = found.slice(at).find(({ text }) => !/^\s*(?:#|$)/.test(text));
    return next?.isOfTable === true ? statement : { ...statement, isOfTable: false };
  });
}

const isWithin = (table: readonly string[], path: EntryPath): boolean =>
  path.every((key, at) => table[at] === key);

/** Keys of a header, which the parser returns as nested empty tables. */
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

/** Compares clones, because the parser's tables have no prototype. */
const isSame = (one: unknown, other: unknown): boolean =>
  isDeepStrictEqual(structuredClone(one), structuredClone(other));

/**
 * Verifies that an edit changed only the entry.
 *
 * @throws {FileFault} if it did not
 */
function verifiedEdit(
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
    `${key}.${name} is not written as a separate table [${path.join('.')}]: edit the file by hand`,
  );
}
