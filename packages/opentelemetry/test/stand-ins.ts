/** An application's OpenTelemetry setup: async context, and spans and measurements in memory. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { ROOT_CONTEXT, createNoopMeter } from '@opentelemetry/api';
import type {
  Attributes,
  Context,
  ContextManager,
  MeterProvider,
  MetricOptions,
} from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';

export class AsyncContexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }

  with: ContextManager['with'] = (context, run, self, ...args) =>
    this.#storage.run(context, () => run.apply(self, args));

  bind<T>(_context: Context, target: T): T {
    return target;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    return this;
  }
}

export function memoryTracing() {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  return { tracerProvider, spans: () => exporter.getFinishedSpans() };
}

export interface Measurement {
  readonly name: string;
  readonly options: MetricOptions | undefined;
  readonly value: number;
  readonly attributes: Attributes | undefined;
}

export function memoryMeter() {
  const measurements: Measurement[] = [];
  const meterProvider: MeterProvider = {
    getMeter: () =>
      Object.assign(createNoopMeter(), {
        createHistogram: (name: string, options?: MetricOptions) => ({
          record: (value: number, attributes?: Attributes) =>
            measurements.push({ name, options, value, attributes }),
        }),
      }),
  };
  return { meterProvider, measurements };
}
