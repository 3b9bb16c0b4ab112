/** Parses tool arguments from the command line. */
import { readFileSync } from 'node:fs';
import { inspectValue, isJsonObject, closestMatch, parseExactly } from 'mcp-actors/internal';
import type { JsonObject } from 'mcp-actors';
import { UsageError } from '../command.ts';

/** Name and input schema of a tool. */
export interface CalledTool {
  readonly name: string;
  readonly inputSchema: JsonObject;
}

/**
 * Parses a tool's arguments: one JSON object; `@FILE` or `-` for a file or stdin that contains one;
 * or `key=value` pairs, parsed by the tool's schema.
 *
 * @param stdin reads all of stdin
 * @throws {UsageError} naming the problem and the tool's parameters
 */
export function readToolArguments(
  written: readonly string[],
  tool: CalledTool,
  stdin: () => string = () => readFileSync(0, 'utf8'),
): JsonObject {
  const [first, ...more] = written;
  if (first === undefined) return {};
  const isPair = (text: string) => /^[^\s={["@-][^=]*=/.test(text);
  if (written.every(isPair)) return fromPairs(written, tool);
  if (more.length > 0) {
    const odd = written.find((text) => !isPair(text)) ?? first;
    throw new UsageError(
      `Arguments must be one JSON object, @FILE, -, or key=value pairs, got ${short(odd)} among several`,
    );
  }
  if (first === '-') return parse(stdin(), 'stdin');
  if (first.startsWith('@')) return parse(contentsOf(first.slice(1)), first.slice(1));
  return parse(first, short(first));
}

const short = (text: string): string =>
  JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);

function contentsOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`Arguments cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function parse(text: string, where: string): JsonObject {
  let value: unknown;
  try {
    value = parseExactly(text);
  } catch (error) {
    throw new UsageError(
      `Arguments in ${where} must be valid JSON: ${(error as Error).message}. Write {"key": "value"} or key=value`,
      { cause: error },
    );
  }
  if (isJsonObject(value)) return value;
  throw new UsageError(`Arguments in ${where} must be a JSON object, got ${inspectValue(value)}`);
}

function fromPairs(pairs: readonly string[], tool: CalledTool): JsonObject {
  const properties = isJsonObject(tool.inputSchema['properties'])
    ? tool.inputSchema['properties']
    : {};
  const isOpen = tool.inputSchema['additionalProperties'] !== false;
  const read = new Map<string, string>();
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    const [key, text] = [pair.slice(0, at), pair.slice(at + 1)];
    const schema = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (schema === undefined) rejectUnknown(key, Object.keys(properties), isOpen, tool.name);
    const value = jsonOf(text, isJsonObject(schema) ? schema : {}, key);
    // Repeated pairs append to a list.
    const before = read.get(key);
    if (before !== undefined && !isList(before)) {
      throw new UsageError(`${key} must not be given twice, because it is not a list`);
    }
    read.set(key, before !== undefined && isList(value) ? joined(before, value) : value);
  }
  const members = [...read].map(([key, value]) => `${JSON.stringify(key)}:${value}`);
  return parse(`{${members.join(',')}}`, 'the pairs');
}

const isList = (json: string): boolean => json.startsWith('[');

function joined(before: string, more: string): string {
  const items = [before, more].map((list) => list.slice(1, -1).trim());
  return `[${items.filter((each) => each !== '').join(',')}]`;
}

/**
 * Rejects an unknown name, unless the schema allows additional properties and no known name is
 * similar.
 */
function rejectUnknown(key: string, known: readonly string[], isOpen: boolean, tool: string): void {
  const near = closestMatch(key, known);
  if (isOpen && near === undefined) return;
  const names = known.length === 0 ? 'none' : known.join(', ');
  const meant = near === undefined ? '.' : `. Did you mean ${near}?`;
  throw new UsageError(
    `${tool} has no argument ${JSON.stringify(key)}${meant} Its arguments: ${names}`,
  );
}

/** Allowed types of a property; empty if its schema names none. */
function typesOf(schema: JsonObject): readonly string[] {
  const { type, anyOf, oneOf, enum: values } = schema;
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type.map(String);
  const union = Array.isArray(anyOf) ? anyOf : oneOf;
  if (Array.isArray(union)) return union.filter(isJsonObject).flatMap(typesOf);
  if (Array.isArray(values)) return [...new Set(values.map((value) => typeof value))];
  return [];
}

/** Converts input to JSON text, preserving the spelling of numbers. */
function jsonOf(text: string, schema: JsonObject, key: string): string {
  const types = typesOf(schema);
  const wants = (type: string) => types.includes(type);
  const value = json(text);
  if (types.length === 0)
    return value === undefined || value === null ? JSON.stringify(text) : text.trim();
  if ((wants('number') || wants('integer')) && /^-?\d/.test(text) && !Number.isNaN(+text)) {
    const number = Number(text);
    if (wants('number') || wants('string') || Number.isInteger(number)) {
      return value === undefined ? JSON.stringify(number) : text;
    }
  }
  if (wants('boolean') && /^(?:true|false|yes|no)$/i.test(text)) return String(/^[ty]/i.test(text));
  if (wants('null') && text === 'null') return text;
  const isWanted = Array.isArray(value) ? wants('array') : isJsonObject(value) && wants('object');
  if (isWanted) return text.trim();
  if (wants('string')) return JSON.stringify(text);
  if (wants('array')) {
    return `[${jsonOf(text, isJsonObject(schema['items']) ? schema['items'] : {}, key)}]`;
  }
  throw new UsageError(`${key} must be ${types.join(' or ')}, got ${short(text)}`);
}

function json(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
