/** Name and attributes of a request's span and duration. */
import type { Attributes } from '@opentelemetry/api';
import { isJsonObject } from '../../../src/protocol/classify.ts';
import { ErrorCode } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { IncomingCall } from '../../../src/server/features/middleware.ts';

export interface RequestSubject {
  readonly spanName: string;
  readonly spanAttributes: Attributes;
  /** @param statusCode code of the error response, if any */
  metricAttributes(statusCode: string | undefined): Attributes;
}

/** Attributes of HTTP. An author who serves QUIC overrides them. */
export const httpAttributes: Attributes = {
  'network.transport': 'tcp',
  'network.protocol.name': 'http',
};

/** @param added attributes to add to the span and the metric */
export function subjectOf(call: IncomingCall, added: Attributes = {}): RequestSubject {
  const { method, params, context } = call;
  const target = targetOf(method, params);
  const common: Attributes = {
    ...(context.http ? httpAttributes : {}),
    ...added,
    'mcp.method.name': method,
    'mcp.protocol.version': context.client.dialect.version,
    ...(method === 'tools/call' ? { 'gen_ai.operation.name': 'execute_tool' } : {}),
  };
  const named = target ? { [target.attribute]: target.name } : {};
  const uri = uriOf(method, params);
  return {
    spanName: target ? `${method} ${target.name}` : method,
    spanAttributes: {
      ...common,
      ...named,
      'jsonrpc.request.id': truncated(String(context.requestId)),
      ...(uri === undefined ? {} : { 'mcp.resource.uri': uri }),
    },
    // Unknown names are omitted: a client could create unlimited time series with them.
    metricAttributes: (statusCode) =>
      statusCode === String(ErrorCode.invalidParams) ? common : { ...common, ...named },
  };
}

interface SpanTarget {
  readonly attribute: 'gen_ai.tool.name' | 'gen_ai.prompt.name';
  readonly name: string;
}

function targetOf(method: string, params: JsonObject | undefined): SpanTarget | undefined {
  switch (method) {
    case 'tools/call':
      return named('gen_ai.tool.name', params);
    case 'prompts/get':
      return named('gen_ai.prompt.name', params);
    case 'completion/complete': {
      const ref = params?.['ref'];
      const isPrompt = isJsonObject(ref) && ref['type'] === 'ref/prompt';
      return isPrompt ? named('gen_ai.prompt.name', ref) : undefined;
    }
    default:
      return undefined;
  }
}

function named(
  attribute: SpanTarget['attribute'],
  owner: JsonObject | undefined,
): SpanTarget | undefined {
  const name = owner?.['name'];
  return typeof name === 'string' ? { attribute, name: truncated(name) } : undefined;
}

function uriOf(method: string, params: JsonObject | undefined): string | undefined {
  const uri = method.startsWith('resources/') ? params?.['uri'] : undefined;
  return typeof uri === 'string' ? truncated(uri) : undefined;
}

/** Truncates names, because a client may send any length. */
function truncated(value: string): string {
  return value.slice(0, 256);
}
