/**
 * Whether the headers of a request say what its body says. What stands between client and server
 * goes by the headers, the server by the body: they must not differ.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Server Validation"
 */
import type { Tool } from '../../define/tool.ts';
import type { ItemsAtDoor } from '../../features/registry.ts';
import { describe, isJsonObject } from '../../protocol/classify.ts';
import type { InboundRequest, JsonObject } from '../../protocol/frames.ts';
import { decodeHeaderValue, namedBy } from '../../protocol/header-values.ts';
import { MetaKey } from '../../protocol/meta.ts';
import { jsonSchemaOf } from '../../schema/schema.ts';
import { mirroredParameters } from '../../schema/mirrored-parameters.ts';
import type { MirroredParameter } from '../../schema/mirrored-parameters.ts';
import type { HttpExchange } from '../http-exchange.ts';

type Headers = Pick<HttpExchange, 'header' | 'head'>;
type Request = Pick<InboundRequest, 'method' | 'params'>;

/** What is wrong with the header that names the revision; undefined if the body names none. */
export function versionMismatch(headers: Headers, { params }: Request): string | undefined {
  const meta = params?.['_meta'];
  const version = isJsonObject(meta) ? meta[MetaKey.protocolVersion] : undefined;
  if (typeof version !== 'string') return undefined;
  return unlike('MCP-Protocol-Version', headers.head.protocolVersion, {
    value: version,
    what: `"${MetaKey.protocolVersion}" in "_meta"`,
  });
}

/** What is wrong with the headers that name the method, what it is about, and its parameters. */
export function headerMismatch(
  headers: Headers,
  request: Request,
  tools: ItemsAtDoor<Tool>,
): string | undefined {
  const { method, params } = request;
  const fault = unlike('Mcp-Method', headers.header('mcp-method'), {
    value: method,
    what: 'the method',
  });
  const member = namedBy.get(method);
  if (fault !== undefined || member === undefined) return fault;
  const name = params?.[member];
  // The method itself says what is wrong with such a one.
  if (typeof name !== 'string') return undefined;
  return (
    decodedUnlike('Mcp-Name', headers.header('mcp-name'), { value: name, what: `"${member}"` }) ??
    (method === 'tools/call'
      ? parameterMismatch(headers, tools.get(name, params), params)
      : undefined)
  );
}

const declared = new WeakMap<Tool, readonly MirroredParameter[]>();

function parametersOf(tool: Tool): readonly MirroredParameter[] {
  let parameters = declared.get(tool);
  if (!parameters) {
    const mirrored = mirroredParameters(
      jsonSchemaOf(tool.inputSchema, 'input', `The inputSchema of the tool "${tool.name}"`),
    );
    // What is wrong with a tool was said where it was defined.
    parameters = mirrored.ok ? mirrored.parameters : [];
    declared.set(tool, parameters);
  }
  return parameters;
}

function parameterMismatch(
  headers: Headers,
  tool: Tool | undefined,
  params: JsonObject | undefined,
): string | undefined {
  if (!tool) return undefined;
  for (const { name, path } of parametersOf(tool)) {
    const header = `Mcp-Param-${name}`;
    const value = path.reduce<unknown>(memberOf, params?.['arguments']) ?? undefined;
    const said = headers.header(header.toLowerCase());
    const fault = decodedUnlike(header, said, { value, what: `the argument ${path.join('.')}` });
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function memberOf(value: unknown, key: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** What the body says, and how to call it. */
interface Said {
  readonly value: unknown;
  readonly what: string;
}

function decodedUnlike(header: string, text: string | undefined, said: Said): string | undefined {
  if (text === undefined) return unlike(header, text, said);
  if (!/^[\t\x20-\x7e]*$/.test(text)) {
    return `The header ${header} has a character that no header may have; such values are sent in base64`;
  }
  const decoded = decodeHeaderValue(text);
  if (decoded !== undefined) return unlike(header, decoded, said);
  return `The header ${header} is not the base64 of a text: ${describe(text)}`;
}

function unlike(
  header: string,
  text: string | undefined,
  { value, what }: Said,
): string | undefined {
  if (text === undefined) {
    if (value === undefined || typeof value === 'object') return undefined;
    return `The header ${header} is missing, and ${what} is ${describe(value)}`;
  }
  if (isText(value, text)) return undefined;
  return `The header ${header} is ${describe(text)}, and ${what} is ${describe(value)}`;
}

/** True if the text stands for the value. Numbers are compared as numbers. */
function isText(value: unknown, text: string): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return text === String(value);
    case 'number':
      // Of others, two that differ could be read as the same.
      return Number.isSafeInteger(value) && /^-?\d+(\.\d+)?$/.test(text) && Number(text) === value;
    default:
      return false;
  }
}
