/** A tool that sends the requests described by its arguments to the client. */
import { RuntimeError } from 'mcp-actors';
import type { JsonObject, ProgressReport, RequestOptions, Tool } from 'mcp-actors';
import { tool } from './serving.ts';

export interface Asking {
  /** `ask {method, params, options}`; its text is the client's result as JSON. */
  readonly ask: Tool;
  /** Errors of its requests, in order. */
  readonly errors: RuntimeError[];
  /** Received progress; requested if `options.progress` is true. */
  readonly progress: ProgressReport[];
}

interface AskArguments {
  readonly method: string;
  readonly params?: JsonObject;
  readonly options?: RequestOptions & { readonly progress?: boolean };
}

export function asking(): Asking {
  const errors: RuntimeError[] = [];
  const progress: ProgressReport[] = [];
  const ask = tool('ask', async (args, context) => {
    const {
      method,
      params,
      options: { progress: wanted, ...options } = {},
    } = args as unknown as AskArguments;
    try {
      const result = await context.request(method, params, {
        ...options,
        ...(wanted ? { onProgress: (report) => progress.push(report) } : {}),
      });
      return JSON.stringify(result);
    } catch (error) {
      if (error instanceof RuntimeError) errors.push(error);
      throw error;
    }
  });
  return { ask, errors, progress };
}
