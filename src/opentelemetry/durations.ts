import type { Histogram, MeterProvider } from '@opentelemetry/api';

export const scope = 'mcp-actors';

/** Seconds, as the conventions ask. */
const boundaries = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** A histogram of durations with the boundaries of the conventions. */
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
