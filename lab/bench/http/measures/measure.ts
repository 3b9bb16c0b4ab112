/**
 * Types of HTTP measures, which run operations against one or several server processes and return
 * numbers.
 */
import type { Measured, Sample } from '../../measures/measure.ts';
import type { HttpClient, HttpClientOptions } from '../http-client.ts';
import type { HttpSizes } from '../http-sizes.ts';

export interface HttpBench {
  readonly sizes: HttpSizes & { readonly settleMs: number };
  /** Stores partial results in case the rest fails. */
  keep(sample: Sample): void;
  /** Runs `body` with a server. Rejects if the client breaks meanwhile. */
  launch<T>(
    body: (client: HttpClient) => Promise<T>,
    options?: Pick<HttpClientOptions, 'heapProbe' | 'env'>,
  ): Promise<T>;
}

/** A measure of an HTTP server. */
export interface HttpMeasure extends Measured {
  /** Rejects with the server's fault. */
  run(bench: HttpBench): Promise<Sample>;
}
