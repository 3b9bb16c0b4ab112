/**
 * Whether the headers of a request say what its body says. What stands between client and server
 * goes by the headers, the server by the body: they must not differ.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Server Validation"
 */
import type { Tool } from '../../../../src/server/define/tool.ts';
import type { ItemsAtDoor } from '../../../../src/server/features/registry.ts';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { InboundRequest } from '../../../../src/protocol/frames.ts';
import {
  validateHeader,
  mcpNameMembers,
  validatePlainHeader,
} from '../../../../src/protocol/header-values.ts';
import { MetaKey } from '../../../../src/protocol/meta.ts';
import { jsonSchemaOf } from '../../../schema/src/schema.ts';
import { mirroredParameters, parameterMismatch } from '../../../schema/src/mirrored-parameters.ts';
import type { MirroredParameter } from '../../../schema/src/mirrored-parameters.ts';
import type { HttpExchange } from '../http-exchange.ts';

type Headers = Pick<HttpExchange, 'header' | 'head'>;
type Request = Pick<InboundRequest, 'method' | 'params'>;

/** What is wrong with the header that names the revision; undefined if the body names none. */
export function versionMismatch(headers: Headers, { params }: Request): string | undefined {
  const meta = params?.['_meta'];
  const version = isJsonObject(meta) ? meta[MetaKey.protocolVersion] : undefined;
  if (typeof version !== 'string') return undefined;
  return validatePlainHeader('MCP-Protocol-Version', headers.head.protocolVersion, {
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
  const fault = validatePlainHeader('Mcp-Method', headers.header('mcp-method'), {
    value: method,
    what: 'the method',
  });
  const member = mcpNameMembers.get(method);
  if (fault !== undefined || member === undefined) return fault;
  const name = params?.[member];
  // The method itself says what is wrong with such a one.
  if (typeof name !== 'string') return undefined;
  return (
    validateHeader('Mcp-Name', headers.header('mcp-name'), { value: name, what: `"${member}"` }) ??
    (method === 'tools/call'
      ? parameterMismatch(headers, parametersOf(tools.get(name, params)), params)
      : undefined)
  );
}

const declared = new WeakMap<Tool, readonly MirroredParameter[]>();

function parametersOf(tool: Tool | undefined): readonly MirroredParameter[] {
  if (!tool) return [];
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
