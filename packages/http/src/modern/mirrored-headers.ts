/**
 * Validates that a request's headers match its body. Intermediaries route by headers and the server
 * by the body, so they must agree.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Server Validation"
 */
import type { Tool } from '../../../../src/server/define/tool.ts';
import type { ItemLookup } from '../../../../src/server/features/registry.ts';
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

/**
 * Describes a mismatch of `MCP-Protocol-Version`; undefined if it matches or the body has no
 * version.
 */
export function versionMismatch(headers: Headers, { params }: Request): string | undefined {
  const meta = params?.['_meta'];
  const version = isJsonObject(meta) ? meta[MetaKey.protocolVersion] : undefined;
  if (typeof version !== 'string') return undefined;
  return validatePlainHeader('MCP-Protocol-Version', headers.head.protocolVersion, {
    value: version,
    what: `"${MetaKey.protocolVersion}" in "_meta"`,
  });
}

/**
 * Describes a mismatch of `Mcp-Method`, `Mcp-Name` or a mirrored parameter; undefined if all match.
 */
export function headerMismatch(
  headers: Headers,
  request: Request,
  tools: ItemLookup<Tool>,
): string | undefined {
  const { method, params } = request;
  const fault = validatePlainHeader('Mcp-Method', headers.header('mcp-method'), {
    value: method,
    what: 'the method',
  });
  const member = mcpNameMembers.get(method);
  if (fault !== undefined || member === undefined) return fault;
  const name = params?.[member];
  // The method rejects an invalid name itself.
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
    // Invalid tools were reported at their definition.
    parameters = mirrored.ok ? mirrored.parameters : [];
    declared.set(tool, parameters);
  }
  return parameters;
}
