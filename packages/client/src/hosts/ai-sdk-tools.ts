/** Tools of many servers for Vercel's AI SDK (package `ai`, installed by the host). */
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { CallToolResult } from '../lists/list-results.ts';
import type { Servers } from './servers.ts';

/** Definition of a tool for the AI SDK. */
export interface AiSdkTool<TSchema> {
  /** For the model; undefined if the server gives none. */
  readonly description: string | undefined;
  /** Schema of the arguments. */
  readonly inputSchema: TSchema;
  /** Calls the tool at its server; the AI SDK's signal cancels the call. */
  execute(
    input: unknown,
    options: { readonly abortSignal?: AbortSignal | undefined },
  ): Promise<CallToolResult>;
  /** Model input: the text of the result, as an error if the tool failed. */
  toModelOutput(result: { readonly output: unknown }): {
    readonly type: 'text' | 'error-text';
    readonly value: string;
  };
}

/** Two functions of the package `ai`: `import { dynamicTool, jsonSchema } from 'ai'`. */
export interface AiSdkFunctions<TSchema, TTool> {
  /** Creates a tool whose types are known only at runtime. */
  dynamicTool(tool: AiSdkTool<TSchema>): TTool;
  /** Converts a JSON Schema to a schema of the AI SDK. */
  jsonSchema(schema: JsonObject): TSchema;
}

/**
 * The tools of all servers by their names in the merged list, for `generateText` and `streamText`.
 *
 * ```ts const tools = await toolsForAiSdk(servers, { dynamicTool, jsonSchema });
 * ```
 *
 * @throws what `servers.listTools` throws
 */
export async function toolsForAiSdk<TSchema, TTool>(
  servers: Pick<Servers, 'listTools' | 'callTool'>,
  { dynamicTool, jsonSchema }: AiSdkFunctions<TSchema, TTool>,
): Promise<{ [name: string]: TTool }> {
  const tools = await servers.listTools();
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => {
      const tool = dynamicTool({
        description,
        inputSchema: jsonSchema(inputSchema),
        execute: (input, { abortSignal: signal }) =>
          servers.callTool(name, input as JsonObject, signal ? { signal } : {}),
        toModelOutput: ({ output }) => textOf(output as CallToolResult),
      });
      return [name, tool];
    }),
  );
}

function textOf({ content, isError }: CallToolResult) {
  const value = content
    .map((block) => (block.type === 'text' ? block.text : JSON.stringify(block)))
    .join('\n');
  return { type: isError === true ? ('error-text' as const) : ('text' as const), value };
}
