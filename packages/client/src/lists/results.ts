/**
 * Parses a server's results for a host. Results with the required members are unchanged.
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

/** Longer schemas are ignored, UTF-16 units: compiling one of 2 MB takes more than a second. */
const maxSchemaLength = 64 * 1024;

type OutputCheck = ReturnType<typeof validatorOf>;

/** Compiled schemas; undefined for an unusable schema. */
const checks = new WeakMap<JsonObject, OutputCheck | undefined>();

const noSchemas: ReadonlyMap<string, JsonObject> = new Map();

/**
 * Results of one connection. Each parser throws `INVALID_RESPONSE` if a result lacks a required
 * member.
 */
export class Results {
  readonly #name: string;
  readonly #problem: (name: 'output.invalid', message: string) => void;
  /** `outputSchema` by tool. */
  #schemas = noSchemas;

  /** @param name the server's name, for messages */
  constructor(name: string, problem: (name: 'output.invalid', message: string) => void) {
    this.#name = name;
    this.#problem = problem;
  }

  /** Updates the schemas from a tool list. */
  toolsListed(tools: readonly ListedTool[]): void {
    this.#schemas = new Map(
      tools.flatMap(({ name, outputSchema }) =>
        isJsonObject(outputSchema) ? [[name, outputSchema]] : [],
      ),
    );
  }

  /**
   * Parses a tool's result. A violation of the tool's schema is reported, but the host still gets
   * the result.
   */
  callTool(tool: string, result: JsonObject): CallToolResult {
    const schema = this.#schemas.get(tool);
    const fault = schema && result['isError'] !== true ? this.#faultOf(schema, result) : undefined;
    if (fault !== undefined) {
      const message = `The "structuredContent" of ${inspectValue(tool)} does not match its "outputSchema": ${fault}`;
      this.#problem('output.invalid', message);
    }
    const { content } = result;
    if (Array.isArray(content)) return result as CallToolResult;
    // Old servers send only structured results, and some omit an empty list.
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

  /** A fault of a result's `structuredContent`. */
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
    const message = `"${member}" in the result of ${method} from ${this.#name} must be ${wanted}, got ${inspectValue(got)}`;
    return new RuntimeError('INVALID_RESPONSE', message);
  }
}

/** Compiles a schema; undefined if too long or invalid, which is not a fault of the result. */
function checkOf(schema: JsonObject): OutputCheck | undefined {
  if (textLength(schema) > maxSchemaLength) return undefined;
  try {
    return validatorOf(schema, 'output');
  } catch {
    return undefined;
  }
}
