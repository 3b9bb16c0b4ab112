/** What a host gets of a server's results: as they are, if they hold what they must. */
import { describe, isJsonObject } from '../../protocol/classify.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { CallToolResult, GetPromptResult, ReadResourceResult } from '../lists/offered.ts';
import type { Completion } from '../../protocol/listed.ts';

export interface ResultReaders {
  readonly callTool: (result: JsonObject) => CallToolResult;
  readonly readResource: (result: JsonObject) => ReadResourceResult;
  readonly getPrompt: (result: JsonObject) => GetPromptResult;
  readonly complete: (result: JsonObject) => Completion;
}

/**
 * The readers of one connection, made once for all its requests. Each throws `INVALID_RESPONSE` if a
 * result is not what the method has.
 *
 * @param name of the server, in texts
 */
export function resultReadersOf(name: string): ResultReaders {
  const malformed = (method: string, member: string, wanted: string, got: unknown): never => {
    const message = `${name} answered ${method} with a "${member}" that must be ${wanted}, this is ${describe(got)}`;
    throw new RuntimeError('INVALID_RESPONSE', message);
  };
  return {
    callTool: (result) => {
      const { content } = result;
      if (Array.isArray(content)) return result as CallToolResult;
      // Servers of 2024 give structured results alone, and some leave an empty list out.
      if (content === undefined && result['resultType'] !== 'task') {
        return { ...result, content: [] };
      }
      return malformed('tools/call', 'content', 'a list', content);
    },
    readResource: (result) => {
      const { contents } = result;
      if (Array.isArray(contents)) return result as ReadResourceResult;
      return malformed('resources/read', 'contents', 'a list', contents);
    },
    getPrompt: (result) => {
      const { messages } = result;
      if (Array.isArray(messages)) return result as GetPromptResult;
      return malformed('prompts/get', 'messages', 'a list', messages);
    },
    complete: ({ completion }) => {
      if (isJsonObject(completion) && Array.isArray(completion['values'])) {
        return completion as unknown as Completion;
      }
      return malformed('completion/complete', 'completion', 'an object with values', completion);
    },
  };
}
