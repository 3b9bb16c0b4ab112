/**
 * Upper limits over stdio by metric: a multiple of the floor where the ratio is shown, else the
 * value itself.
 */
export const goals: { readonly [key: string]: number | undefined } = {
  'start.initialize': 1.4,
  'start.cpu': 1.25,
  'latency.echo.p50': 1.1,
  'ping.256.cpu': 1.2,
  'echo.256.cpu': 1.5,
  'echo.all.cpu': 1.4,
  'echo.wait': 1,
  'enveloped echo.256.cpu': 2,
  'large.10 MiB': 1.1,
  'large.exponent': 1.05,
  'roots.sequential.cpu': 1.05,
  'roots.concurrent.cpu': 1.2,
  'short.echo': 1.4,
  'short.roots.sequential': 1.3,
  'short.roots.concurrent': 1.5,
  'memory.cancelled': 0.3,
  'memory.pending.heap': 1.2,
  'unread.growth': 64,
};
