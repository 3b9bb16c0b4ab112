/** What a request is about: the name and the attributes of its span and of its duration. */
import type { Attributes } from '@opentelemetry/api';
import { isJsonObject } from '../../../src/protocol/classify.ts';
import { ErrorCode } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { IncomingCall } from '../../../src/server/features/middleware.ts';

export interface Subject {
  readonly spanName: string;
  readonly spanAttributes: Attributes;
  /** @param statusCode the code of the error that the request was answered with, if it was */
  metricAttributes(statusCode: string | undefined): Attributes;
}

/** What the conventions say of HTTP; QUIC would be the author's to say. */
export const httpAttributes: Attributes = {
  'network.transport': 'tcp',
  'network.protocol.name': 'http',
};

/** @param added attributes for the span and the metric */
export function subjectOf(call: IncomingCall, added: Attributes = {}): Subject {
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
      'jsonrpc.request.id': text(String(context.requestId)),
      ...(uri === undefined ? {} : { 'mcp.resource.uri': uri }),
    },
    // Names that do not exist would let a client create endless time series.
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
  return typeof name === 'string' ? { attribute, name: text(name) } : undefined;
}

function uriOf(method: string, params: JsonObject | undefined): string | undefined {
  const uri = method.startsWith('resources/') ? params?.['uri'] : undefined;
  return typeof uri === 'string' ? text(uri) : undefined;
}

/** A client may send names of any length. */
function text(value: string): string {
  return value.slice(0, 256);
}
