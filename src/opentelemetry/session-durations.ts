/**
 * How long sessions last.
 *
 * @see OpenTelemetry semantic conventions for generative AI, "Model Context Protocol (MCP)", "Metric: mcp.server.session.duration" (status: development)
 */
import { metrics } from '@opentelemetry/api';
import type { Attributes, MeterProvider } from '@opentelemetry/api';
import type { Watcher } from '../server/session.ts';
import { durationHistogram } from './durations.ts';

export interface SessionDurationsOptions {
  /** By default the globally registered one. */
  readonly meterProvider?: MeterProvider;
  /** On every duration, such as `{ 'network.transport': 'pipe' }` for sessions over stdio. */
  readonly attributes?: Attributes;
}

/**
 * A watcher that records `mcp.server.session.duration`, in seconds, when a session has ended: `server.listen(transport, { watchers: [sessionDurations()] })`.
 * `error.type` is the kind of the end where that is an error: `output-broken`, `unresponsive` or `failure`. A session that no client has introduced
 * itself in has no `mcp.protocol.version`.
 */
export function sessionDurations(options: SessionDurationsOptions = {}): Watcher {
  const { meterProvider = metrics, attributes } = options;
  const durations = durationHistogram(
    meterProvider,
    'mcp.server.session.duration',
    'How long a session lasted, from its start to its end',
  );
  return ({ actor, closed, clock }) => {
    const startedMs = clock.now();
    void closed.then(({ kind }) => {
      const { client } = actor.getSnapshot().context;
      const isError = kind !== 'input-ended' && kind !== 'shutdown';
      durations.record((clock.now() - startedMs) / 1000, {
        ...attributes,
        ...(client ? { 'mcp.protocol.version': client.dialect.version } : {}),
        ...(isError ? { 'error.type': kind } : {}),
      });
    });
  };
}
