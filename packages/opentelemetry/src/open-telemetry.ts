/**
 * A span and a duration for each request that runs a handler.
 *
 * @see OpenTelemetry semantic conventions for generative AI, "Model Context Protocol (MCP)",
 *   "Server" (status: development)
 */
import {
  SpanKind,
  SpanStatusCode,
  context as contexts,
  metrics,
  propagation,
  trace,
} from '@opentelemetry/api';
import type {
  Attributes,
  Context,
  Link,
  MeterProvider,
  Span,
  TextMapGetter,
  TextMapPropagator,
  TracerProvider,
  Exception,
} from '@opentelemetry/api';
import { isJsonObject } from '../../../src/protocol/classify.ts';
import type { JsonObject, WireError } from '../../../src/protocol/frames.ts';
import type { ServedHttpRequest } from '../../../src/protocol/request-origin.ts';
import type { IncomingCall, Middleware } from '../../../src/server/features/middleware.ts';
import { durationHistogram, scope } from './durations.ts';
import { subjectOf } from './subject.ts';
import { causeOfFailure } from '../../../src/server/features/tool-failure.ts';
import {
  RuntimeError,
  ToolError,
  internalError,
  shuttingDown,
  textOfError,
} from '../../../src/protocol/errors.ts';

/** Where spans and durations go, and their attributes. */
export interface OpenTelemetryOptions {
  /** By default the globally registered one. */
  readonly tracerProvider?: TracerProvider;
  /** By default the globally registered one. */
  readonly meterProvider?: MeterProvider;
  /**
   * Reads the client's trace context from `params._meta`, and over HTTP from the headers. By default
   * the globally registered one.
   */
  readonly propagator?: Pick<TextMapPropagator, 'extract'>;
  /**
   * On every span and every duration, such as `{ 'network.transport': 'pipe' }` for a server over
   * stdio. Over HTTP it is said by itself that it is, unless they say something else.
   */
  readonly attributes?: Attributes;
  /**
   * Gives `mcp.session.id`; undefined if the request is part of no session. By default the id that
   * the session has in this process, if the revision has sessions.
   */
  readonly sessionId?: (call: IncomingCall) => string | undefined;
}

/**
 * Middleware that makes a server span `{method} {tool or prompt}` for each request that runs a
 * handler, and records `mcp.server.operation.duration`. The span is a child of the client's span if
 * the request carries one, and is active while the handler runs. Arguments and results are not
 * recorded.
 *
 * Install it first, so that it sees what other middleware does: `server.use(openTelemetry())`.
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Middleware {
  const { tracerProvider = trace, meterProvider = metrics, propagator = propagation } = options;
  const { sessionId: sessionIdOf = idOfSession } = options;
  const tracer = tracerProvider.getTracer(scope);
  const durations = durationHistogram(
    meterProvider,
    'mcp.server.operation.duration',
    'How long a request took, from its start to its result',
  );

  return (call, next) => {
    const subject = subjectOf(call, options.attributes);
    const sessionId = sessionIdOf(call);
    const ambient = surroundingsOf(call, propagator);
    const parent = propagator.extract(ambient, carrierOf(call.params), metaGetter);
    const span = tracer.startSpan(
      subject.spanName,
      {
        kind: SpanKind.SERVER,
        attributes: {
          ...subject.spanAttributes,
          ...(sessionId === undefined ? {} : { 'mcp.session.id': sessionId }),
        },
        links: ambientLinks(ambient, parent),
      },
      parent,
    );
    const startedMs = performance.now();
    const measured = contexts.with(trace.setSpan(parent, span), next);
    return ended(call, measured, (outcome) => {
      durations.record(
        (performance.now() - startedMs) / 1000,
        { ...subject.metricAttributes(outcome.statusCode), ...attributesOf(outcome) },
        parent,
      );
      end(span, outcome);
    });
  };
}

function idOfSession({ context }: IncomingCall): string | undefined {
  return context.client.dialect.sessionOfRequest(context.session)?.id;
}

/** Reports the outcome once: an aborted call has ended, even if its handler still runs. */
async function ended(
  call: IncomingCall,
  measured: Promise<JsonObject>,
  report: (outcome: CallOutcome) => void,
): Promise<JsonObject> {
  const { signal } = call.context;
  let settle = (outcome: CallOutcome) => {
    settle = () => {};
    signal.removeEventListener('abort', abort);
    report(outcome);
  };
  const abort = () => settle(outcomeOfAbort(call, signal.reason));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort);
  try {
    const result = await measured;
    settle(outcomeOfResult(call.method, result));
    return result;
  } catch (error) {
    settle(outcomeOfError(call, error));
    throw error;
  }
}

function end(span: Span, outcome: CallOutcome): void {
  span.setAttributes(attributesOf(outcome));
  if (outcome.exception) span.recordException(outcome.exception);
  if (outcome.errorType !== undefined) {
    const { message } = outcome;
    span.setStatus({
      code: SpanStatusCode.ERROR,
      ...(message === undefined ? {} : { message }),
    });
  }
  span.end();
}

function attributesOf({ errorType, statusCode }: CallOutcome): Attributes {
  return {
    ...(errorType === undefined ? {} : { 'error.type': errorType }),
    ...(statusCode === undefined ? {} : { 'rpc.response.status_code': statusCode }),
  };
}

/**
 * The span that the transport runs in. Over HTTP, if nothing traces the server's own HTTP requests,
 * it is the one that the headers name.
 */
function surroundingsOf(
  { context: { http } }: IncomingCall,
  propagator: Pick<TextMapPropagator, 'extract'>,
): Context {
  const active = contexts.active();
  if (!http || trace.getSpanContext(active)) return active;
  return propagator.extract(active, http, headerGetter);
}

/**
 * Links to the span that the transport runs in, such as an HTTP request's, if it is not the parent.
 */
function ambientLinks(ambient: Context, parent: Context): Link[] {
  const around = trace.getSpanContext(ambient);
  const isParent = around?.spanId === trace.getSpanContext(parent)?.spanId;
  return around && !isParent ? [{ context: around }] : [];
}

/**
 * The carrier of a request's trace context: its `_meta`, with `traceparent`, `tracestate` and
 * `baggage` unprefixed.
 *
 * @see MCP SEP-414
 */
function carrierOf(params: JsonObject | undefined): JsonObject {
  const meta = params?.['_meta'];
  return isJsonObject(meta) ? meta : {};
}

const headerGetter: TextMapGetter<ServedHttpRequest> = {
  keys: (http) => [...http.headerNames()],
  get: (http, name) => http.header(name),
};

/** Reads strings only: a client may write anything into `_meta`. */
const metaGetter: TextMapGetter<JsonObject> = {
  keys: (meta) => Object.keys(meta),
  get: (meta, key) => {
    const value = Object.hasOwn(meta, key) ? meta[key] : undefined;
    return typeof value === 'string' ? value : undefined;
  },
};

/** How a request ended, in the terms of the conventions. */
interface CallOutcome {
  /** `error.type`; absent if the request succeeded. */
  readonly errorType?: string;
  /** `rpc.response.status_code`: the code of the error that the client gets. */
  readonly statusCode?: string;
  /** The message of the error that the client gets. */
  readonly message?: string;
  /** The error behind an internal error, or behind the failure of a tool that its author did not mean. */
  readonly exception?: Exception;
}

const toolFailed: CallOutcome = { errorType: 'tool_error' };

/** On the wire, a tool's failure is a result like any other. */
function outcomeOfResult(method: string, result: JsonObject): CallOutcome {
  if (method !== 'tools/call' || result['isError'] !== true) return {};
  const cause = causeOfFailure(result);
  return cause ? { ...toolFailed, exception: exceptionOf(cause.error) } : toolFailed;
}

function outcomeOfError(call: IncomingCall, error: unknown): CallOutcome {
  const meant = call.context.client.dialect.wireError(error);
  if (meant) return outcomeOfWireError(meant);
  const isForTheModel = error instanceof ToolError || error instanceof RuntimeError;
  if (isForTheModel && call.method === 'tools/call') return toolFailed;
  return { ...outcomeOfWireError(internalError), exception: exceptionOf(error) };
}

function exceptionOf(error: unknown): Exception {
  return error instanceof Error ? error : textOfError(error);
}

/** The client cancelled and gets no answer, or the session ended. */
function outcomeOfAbort({ context }: IncomingCall, reason: unknown): CallOutcome {
  const isCancelled = reason instanceof RuntimeError && reason.code === 'CANCELLED';
  return isCancelled
    ? { errorType: 'cancelled' }
    : outcomeOfWireError(context.client.dialect.projectError(shuttingDown));
}

function outcomeOfWireError({ code, message }: WireError): CallOutcome {
  return { errorType: String(code), statusCode: String(code), message };
}
