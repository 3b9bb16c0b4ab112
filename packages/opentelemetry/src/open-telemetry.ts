/**
 * Spans and durations of requests that run a handler.
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

/** Destinations and attributes of spans and durations. */
export interface OpenTelemetryOptions {
  /** Default: the globally registered provider. */
  readonly tracerProvider?: TracerProvider;
  /** Default: the globally registered provider. */
  readonly meterProvider?: MeterProvider;
  /**
   * Reads the client's trace context from `params._meta` and, over HTTP, from the headers. Default:
   * the globally registered propagator.
   */
  readonly propagator?: Pick<TextMapPropagator, 'extract'>;
  /**
   * Attributes of every span and duration, such as `{ 'network.transport': 'pipe' }` for a server
   * over stdio. Over HTTP the network attributes are set automatically and may be overridden.
   */
  readonly attributes?: Attributes;
  /**
   * Returns `mcp.session.id`; undefined for a request without a session. Default: this process's id
   * of the session, if the revision has sessions.
   */
  readonly sessionId?: (call: IncomingCall) => string | undefined;
}

/**
 * Creates middleware that starts a server span `{method} {tool or prompt}` for each request that
 * runs a handler, and records `mcp.server.operation.duration`. The span is a child of the client's
 * span, if the request carries one, and is active while the handler runs. Arguments and results are
 * not recorded.
 *
 * Install it first, so that it also measures other middleware: `server.use(openTelemetry())`.
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Middleware {
  const { tracerProvider = trace, meterProvider = metrics, propagator = propagation } = options;
  const { sessionId: sessionIdOf = idOfSession } = options;
  const tracer = tracerProvider.getTracer(scope);
  const durations = durationHistogram(
    meterProvider,
    'mcp.server.operation.duration',
    'Duration of a request, from its start to its result',
  );

  return (call, next) => {
    const subject = subjectOf(call, options.attributes);
    const sessionId = sessionIdOf(call);
    const ambient = transportContext(call, propagator);
    const parent = propagator.extract(ambient, traceCarrier(call.params), metaGetter);
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
    return reportOutcome(call, measured, (outcome) => {
      durations.record(
        (performance.now() - startedMs) / 1000,
        { ...subject.metricAttributes(outcome.statusCode), ...attributesOf(outcome) },
        parent,
      );
      endSpan(span, outcome);
    });
  };
}

function idOfSession({ context }: IncomingCall): string | undefined {
  return context.client.dialect.sessionOfRequest(context.session)?.id;
}

/** Reports the outcome once. An aborted call counts as ended even while its handler still runs. */
async function reportOutcome(
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

function endSpan(span: Span, outcome: CallOutcome): void {
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
 * The span of the transport: the active one or, for untraced HTTP requests, the one in the headers.
 */
function transportContext(
  { context: { http } }: IncomingCall,
  propagator: Pick<TextMapPropagator, 'extract'>,
): Context {
  const active = contexts.active();
  if (!http || trace.getSpanContext(active)) return active;
  return propagator.extract(active, http, headerGetter);
}

/** Links to the transport's span, such as that of an HTTP request, unless it is the parent. */
function ambientLinks(ambient: Context, parent: Context): Link[] {
  const around = trace.getSpanContext(ambient);
  const isParent = around?.spanId === trace.getSpanContext(parent)?.spanId;
  return around && !isParent ? [{ context: around }] : [];
}

/**
 * Carrier of a request's trace context: its `_meta`, with `traceparent`, `tracestate` and `baggage`
 * unprefixed.
 *
 * @see MCP SEP-414
 */
function traceCarrier(params: JsonObject | undefined): JsonObject {
  const meta = params?.['_meta'];
  return isJsonObject(meta) ? meta : {};
}

const headerGetter: TextMapGetter<ServedHttpRequest> = {
  keys: (http) => [...http.headerNames()],
  get: (http, name) => http.header(name),
};

/** Reads only strings, because a client may send anything in `_meta`. */
const metaGetter: TextMapGetter<JsonObject> = {
  keys: (meta) => Object.keys(meta),
  get: (meta, key) => {
    const value = Object.hasOwn(meta, key) ? meta[key] : undefined;
    return typeof value === 'string' ? value : undefined;
  },
};

/** Outcome of a request, in the terms of the conventions. */
interface CallOutcome {
  /** `error.type`; absent on success. */
  readonly errorType?: string;
  /** `rpc.response.status_code`: code of the error sent to the client. */
  readonly statusCode?: string;
  /** Message of the error sent to the client. */
  readonly message?: string;
  /** Cause of an internal error, or of an unintended tool failure. */
  readonly exception?: Exception;
}

const toolFailed: CallOutcome = { errorType: 'tool_error' };

/** A failed tool call is an ordinary result on the wire. */
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

/** Outcome of a call that was cancelled, or whose session ended. */
function outcomeOfAbort({ context }: IncomingCall, reason: unknown): CallOutcome {
  const isCancelled = reason instanceof RuntimeError && reason.code === 'CANCELLED';
  return isCancelled
    ? { errorType: 'cancelled' }
    : outcomeOfWireError(context.client.dialect.projectError(shuttingDown));
}

function outcomeOfWireError({ code, message }: WireError): CallOutcome {
  return { errorType: String(code), statusCode: String(code), message };
}
