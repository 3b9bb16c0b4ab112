/** What a measure over HTTP is: something that is done with a server process, or with several, and the numbers that come of it. */
import type { Measured, Sample } from '../../measures/measure.ts';
import type { HttpClient, HttpClientOptions } from '../http-client.ts';
import type { HttpSizes } from '../http-sizes.ts';

export interface HttpBench {
  readonly sizes: HttpSizes & { readonly settleMs: number };
  /** Keeps what has been measured so far, should the rest fail. */
  keep(sample: Sample): void;
  /** Starts the server, does `body`, and ends it. Rejects where the client breaks meanwhile. */
  launch<T>(
    body: (client: HttpClient) => Promise<T>,
    options?: Pick<HttpClientOptions, 'heapProbe' | 'env'>,
  ): Promise<T>;
}

/** A measure of a server over HTTP. */
export interface HttpMeasure extends Measured {
  /** Rejects with what the server has done wrong. */
  run(bench: HttpBench): Promise<Sample>;
}
