/**
 * tools/list and tools/call.
 *
 * @see MCP 2025-11-25, server/tools
 */
import { isThenable } from '../../actors/call.ts';
import type { Call, RequestHandler } from '../../actors/call.ts';
import { describe, isJsonObject } from '../../protocol/classify.ts';
import { ErrorCode, ProtocolError, RuntimeError, ToolError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { Revision } from '../../protocol/revisions/revision.ts';
import type { Tool } from '../definition.ts';
import { SchemaCompiler } from '../validation.ts';
import type { Check } from '../validation.ts';
import type { Feature, FeatureScope } from './feature.ts';
import { refuseCursor } from './pagination.ts';
import { readToolOutput, textBlock } from './tool-output.ts';

/** The tools of a server, for one session. */
export function toolsFeature(tools: readonly Tool[], scope: FeatureScope): Feature {
  const compiler = new SchemaCompiler();
  const byName = new Map(tools.map((tool) => [tool.name, new CallableTool(tool, compiler, scope)]));

  const callTool: RequestHandler = (params, call) => {
    const name = params?.['name'];
    const tool = typeof name === 'string' ? byName.get(name) : undefined;
    if (!tool) {
      throw invalidParams(
        typeof name === 'string'
          ? `unknown tool ${describe(name)}; this server has ${[...byName.keys()].join(', ')}`
          : `"name" must be a string, this is ${describe(name)}`,
      );
    }
    const args = params?.['arguments'] ?? {};
    if (!isJsonObject(args)) {
      throw invalidParams(`"arguments" must be an object, this is ${describe(args)}`);
    }
    return tool.call(args, call);
  };

  return {
    capabilities: { tools: {} },
    handlers: {
      'tools/list': (params, { scope: { client } }) => {
        refuseCursor(params);
        return { tools: tools.map((tool) => describeTool(tool, client.revision)) };
      },
      'tools/call': Object.assign(callTool, { prepare: () => compiler.load() }),
    },
  };
}

function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ErrorCode.invalidParams, `Invalid params: ${message}`);
}

/** A tool as a revision's clients know it. */
function describeTool(tool: Tool, revision: Revision): JsonObject {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return {
    name,
    ...(title !== undefined && revision.structuredOutput ? { title } : {}),
    description,
    inputSchema,
    ...(outputSchema && revision.structuredOutput ? { outputSchema } : {}),
    ...(annotations && revision.toolAnnotations ? { annotations } : {}),
  };
}

interface Checks {
  readonly input: Check;
  readonly output: Check | undefined;
}

class CallableTool {
  readonly #tool: Tool<JsonObject>;
  readonly #compiler: SchemaCompiler;
  readonly #scope: FeatureScope;
  #checks: Checks | undefined;

  constructor(tool: Tool, compiler: SchemaCompiler, scope: FeatureScope) {
    // The handler gets only what its own input schema has let through.
    this.#tool = tool as Tool<JsonObject>;
    this.#compiler = compiler;
    this.#scope = scope;
  }

  call(args: JsonObject, call: Call): JsonObject | Promise<JsonObject> {
    const checks = (this.#checks ??= this.#compile());
    const { revision } = call.scope.client;
    const fault = checks.input(args);
    if (fault !== undefined) {
      const message = `${this.#tool.name} was called with invalid arguments: ${fault}`;
      if (!revision.invalidArgumentsAreResults) throw invalidParams(message);
      return errorResult(message);
    }
    try {
      const output = this.#tool.handler(args, this.#scope.contextOf(call));
      if (!isThenable(output)) return this.#result(output, revision, checks);
      // A promise of whatever kind becomes one of ours, so that a broken one fails here.
      return Promise.resolve(output).then(
        (late) => this.#result(late, revision, checks),
        toolFailure,
      );
    } catch (error) {
      return toolFailure(error);
    }
  }

  #compile(): Checks {
    const { inputSchema, outputSchema } = this.#tool;
    return {
      input: this.#compiler.compile(inputSchema),
      output: outputSchema ? this.#compiler.compile(outputSchema) : undefined,
    };
  }

  #result(output: unknown, revision: Revision, { output: check }: Checks): JsonObject {
    const { content, structured, isError, _meta } = readToolOutput(output);
    const fault = check && !isError ? check(structured) : undefined;
    if (fault !== undefined) {
      throw new TypeError(`${this.#tool.name} gave what its outputSchema refuses: ${fault}`);
    }
    return {
      content,
      ...(structured && revision.structuredOutput ? { structuredContent: structured } : {}),
      ...(isError ? { isError } : {}),
      ...(_meta ? { _meta } : {}),
    };
  }
}

/** What the model may recover from is a result; anything else goes on to the router. */
function toolFailure(error: unknown): JsonObject {
  if (!(error instanceof ToolError || error instanceof RuntimeError)) throw error;
  return errorResult(error.code === undefined ? error.message : `${error.code}: ${error.message}`);
}

function errorResult(message: string): JsonObject {
  return { content: [textBlock(message)], isError: true };
}

