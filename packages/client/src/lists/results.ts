/**
 * Reads a server's results for a host: they are unchanged if they have the required members.
 *
 * @see MCP 2025-11-25, server/tools, "Output Schema"
 */
import { inspectValue, isJsonObject } from '../../../../src/protocol/classify.ts';
import { textLength } from '../../../../src/protocol/codec.ts';
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { Completion, ListedTool } from '../../../../src/protocol/list-items.ts';
import { validatorOf } from '../../../schema/src/schema-check.ts';
import type { CallToolResult, GetPromptResult, ReadResourceResult } from './list-results.ts';

/** Longer schemas are not used, UTF-16 units: compiling one of 2 MB takes more than a second. */
const maxSchemaLength = 64 * 1024;

type OutputCheck = ReturnType<typeof validatorOf>;

/** The compiled checks of the schemas used so far; undefined if a schema cannot be used. */
const checks = new WeakMap<JsonObject, OutputCheck | undefined>();

const noSchemas: ReadonlyMap<string, JsonObject> = new Map();

/**
 * The results of one connection. Each reader throws `INVALID_RESPONSE` if a result lacks a required
 * member.
 */
export class Results {
  readonly #name: string;
  readonly #problem: (name: 'output.invalid', message: string) => void;
  /** The `outputSchema` of each tool that has one. */
  #schemas = noSchemas;

  /** @param name the server's name, for messages */
  constructor(name: string, problem: (name: 'output.invalid', message: string) => void) {
    this.#name = name;
    this.#problem = problem;
  }

  /** The server has listed its tools. */
  toolsListed(tools: readonly ListedTool[]): void {
    this.#schemas = new Map(
      tools.flatMap(({ name, outputSchema }) =>
        isJsonObject(outputSchema) ? [[name, outputSchema]] : [],
      ),
    );
  }

  /**
   * A tool's result. If it violates the tool's schema, this is reported, and the host still gets
   * the result.
   */
  callTool(tool: string, result: JsonObject): CallToolResult {
    const schema = this.#schemas.get(tool);
    const fault = schema && result['isError'] !== true ? this.#faultOf(schema, result) : undefined;
    if (fault !== undefined) {
      const message = `The "structuredContent" of ${inspectValue(tool)} breaks its "outputSchema": ${fault}`;
      this.#problem('output.invalid', message);
    }
    const { content } = result;
    if (Array.isArray(content)) return result as CallToolResult;
    // Old servers send only structured results, and some leave out an empty list.
    if (content === undefined && result['resultType'] !== 'task') return { ...result, content: [] };
    throw this.#malformed('tools/call', 'content', 'a list', content);
  }

  readResource(result: JsonObject): ReadResourceResult {
    return this.#withList('resources/read', 'contents', result) as ReadResourceResult;
  }

  getPrompt(result: JsonObject): GetPromptResult {
    return this.#withList('prompts/get', 'messages', result) as GetPromptResult;
  }

  complete({ completion }: JsonObject): Completion {
    if (isJsonObject(completion) && Array.isArray(completion['values'])) {
      return completion as unknown as Completion;
    }
    throw this.#malformed('completion/complete', 'completion', 'an object with values', completion);
  }

  /** What is wrong with a result's `structuredContent`, in words. */
  #faultOf(schema: JsonObject, { structuredContent }: JsonObject): string | undefined {
    if (structuredContent === undefined) return 'it is missing';
    if (!checks.has(schema)) checks.set(schema, checkOf(schema));
    const checked = checks.get(schema)?.(structuredContent);
    return checked?.ok === false ? checked.fault : undefined;
  }

  #withList(method: string, member: string, result: JsonObject): JsonObject {
    if (Array.isArray(result[member])) return result;
    throw this.#malformed(method, member, 'a list', result[member]);
  }

  #malformed(method: string, member: string, wanted: string, got: unknown): RuntimeError {
    const message = `${this.#name} answered ${method} with a "${member}" that must be ${wanted}, this is ${inspectValue(got)}`;
    return new RuntimeError('INVALID_RESPONSE', message);
  }
}

/** Undefined if the server's schema is too long or invalid, which is not a fault of the result. */
function checkOf(schema: JsonObject): OutputCheck | undefined {
  if (textLength(schema) > maxSchemaLength) return undefined;
  try {
    return validatorOf(schema, 'output');
  } catch {
    return undefined;
  }
}
