/** Histograms of durations, with the boundaries of the conventions. */
import { metrics } from '@opentelemetry/api';
import type { Attributes, Histogram, MeterProvider } from '@opentelemetry/api';
import { httpAttributes } from './subject.ts';
import type { Watcher } from '../../../src/server/session.ts';

/** Instrumentation scope of all spans and metrics. */
export const scope = 'mcp-actors';

/** Bucket boundaries of the semantic conventions, seconds. */
const boundaries = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Creates a histogram of durations in seconds. */
export function durationHistogram(
  provider: MeterProvider,
  name: string,
  description: string,
): Histogram {
  return provider.getMeter(scope).createHistogram(name, {
    description,
    unit: 's',
    advice: { explicitBucketBoundaries: [...boundaries] },
  });
}

/** Destination and attributes of durations. */
export interface SessionDurationsOptions {
  /** Default: the globally registered provider. */
  readonly meterProvider?: MeterProvider;
  /**
   * Attributes of every duration, such as `{ 'network.transport': 'pipe' }` for sessions over
   * stdio.
   */
  readonly attributes?: Attributes;
}

/**
 * Creates a watcher that records `mcp.server.session.duration`, in seconds, when a session ends:
 * `server.listen(transport, { watchers: [sessionDurations()] })`.
 *
 * `error.type` is set if the session ended with an error: `output-broken`, `unresponsive` or
 * `failure`. HTTP requests without a session are not counted. `mcp.protocol.version` is absent if
 * no client sent `initialize`.
 *
 * @see OpenTelemetry semantic conventions for generative AI, "Model Context Protocol (MCP)",
 *   "Metric: mcp.server.session.duration" (status: development)
 */
export function sessionDurations(options: SessionDurationsOptions = {}): Watcher {
  const { meterProvider = metrics, attributes } = options;
  const durations = durationHistogram(
    meterProvider,
    'mcp.server.session.duration',
    'Duration of a session, from its start to its end',
  );
  return ({ actor, closed, clock, dump }) => {
    const startedMs = clock.now();
    void closed.then(({ kind }) => {
      const { http } = dump();
      if (http?.kind === 'requests') return;
      const { client } = actor.getSnapshot().context;
      const isError = kind !== 'input-ended' && kind !== 'shutdown';
      durations.record((clock.now() - startedMs) / 1000, {
        ...(http ? httpAttributes : {}),
        ...attributes,
        ...(client ? { 'mcp.protocol.version': client.dialect.version } : {}),
        ...(isError ? { 'error.type': kind } : {}),
      });
    });
  };
}
