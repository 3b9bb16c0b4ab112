/**
 * tools/list and tools/call.
 *
 * @see MCP 2025-11-25, server/tools
 */
import { isThenable } from '../actors/exchange.ts';
import type { Exchange, RequestHandler } from '../actors/exchange.ts';
import { describe, isJsonObject } from '../protocol/classify.ts';
import { textBlock } from '../protocol/content.ts';
import type { Dialect, ToolItem } from '../protocol/dialects/dialect.ts';
import { RuntimeError, ToolError, invalidParams } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { Registry } from './registry.ts';
import { checkOf, isStandardSchema, jsonSchemaOf } from '../schema/schema.ts';
import type { Checked, SchemaCheck } from '../schema/schema.ts';
import { schemaOf } from '../define/tool.ts';
import type { Tool } from '../define/tool.ts';
import type { SchemaCompiler } from '../schema/validation.ts';
import { PerSession, sessionOf } from '../session/session-scope.ts';
import type { ContextOf, Feature } from './feature.ts';
import { pageOf } from './pagination.ts';
import { readToolOutput } from './output.ts';
import type { CheckedOutput } from './output.ts';

/**
 * The validator is loaded this long after a list, milliseconds. A call that comes sooner loads it
 * itself. Loading blocks the event loop: a client that only lists and leaves need not wait for it.
 */
const loadDelayMs = 100;

/** The tools of a server. */
export function toolsFeature(
  tools: Registry<Tool>,
  compiler: SchemaCompiler,
  contextOf: ContextOf,
): Feature {
  /** By the tool itself, not its name: a tool that replaces it has another schema. */
  const callables = new WeakMap<Tool, CallableTool>();
  const callableOf = (tool: Tool): CallableTool => {
    const known = callables.get(tool);
    if (known) return known;
    const callable = new CallableTool(tool, compiler, contextOf);
    callables.set(tool, callable);
    return callable;
  };

  // A client that lists tools will call one. It gets its list first. If loading fails, the call
  // fails.
  const loadings = new PerSession((session) => {
    const { hostClock } = session;
    const timer = hostClock.setTimeout(() => void compiler.load(), loadDelayMs);
    session.atEnd(() => hostClock.clearTimeout(timer));
    return timer;
  });

  const callTool: RequestHandler = (params, call) => {
    const name = params?.['name'];
    const tool = typeof name === 'string' ? tools.get(name) : undefined;
    if (!tool) {
      throw invalidParams(
        typeof name === 'string'
          ? `unknown tool ${describe(name)}; this server has ${tools.keys().join(', ')}`
          : `"name" must be a string, this is ${describe(name)}`,
      );
    }
    const args = params?.['arguments'] ?? {};
    if (!isJsonObject(args)) {
      throw invalidParams(`"arguments" must be an object, this is ${describe(args)}`);
    }
    return callableOf(tool).call(args, call);
  };

  return {
    capabilities: { tools: { listChanged: true } },
    handlers: {
      'tools/list': (params, call) => {
        const session = sessionOf(call);
        const { client } = call;
        const page = pageOf('tools/list', tools.list(), params, session.limits.pageSize);
        const { items, ...next } = page;
        if (!compiler.isLoading && items.some(needsCompiler)) loadings.of(session);
        return { tools: items.map((tool) => client.dialect.tool(listed(tool))), ...next };
      },
      'tools/call': Object.assign(callTool, {
        prepare: () => compiler.load(),
        recover: (error: unknown, { client }: Exchange) => failureOf(error, client.dialect),
      }),
    },
    list: { sources: [tools], changed: 'notifications/tools/list_changed' },
  };
}

function needsCompiler({ inputSchema, outputSchema }: Tool): boolean {
  return [inputSchema, outputSchema].some((schema) => schema && !isStandardSchema(schema));
}

/** A tool as a list shows it, with its schemas as JSON Schema. */
function listed(tool: Tool): ToolItem {
  const { inputSchema, outputSchema } = tool;
  return {
    ...tool,
    inputSchema: jsonSchemaOf(inputSchema, 'input', schemaOf(tool, 'input')),
    outputSchema: outputSchema && jsonSchemaOf(outputSchema, 'output', schemaOf(tool, 'output')),
  };
}

interface ToolChecks {
  readonly input: SchemaCheck;
  readonly output: SchemaCheck | undefined;
}

type ToolCallResult = JsonObject | Promise<JsonObject>;

class CallableTool {
  readonly #tool: Tool;
  readonly #compiler: SchemaCompiler;
  readonly #contextOf: ContextOf;
  #checks: ToolChecks | undefined;

  constructor(tool: Tool, compiler: SchemaCompiler, contextOf: ContextOf) {
    this.#tool = tool;
    this.#compiler = compiler;
    this.#contextOf = contextOf;
  }

  call(args: JsonObject, call: Exchange): ToolCallResult {
    const checked = this.#compiled().input(args);
    if (!isThenable(checked)) return this.#run(checked, call);
    return checked.then((late) => this.#run(late, call));
  }

  #run(args: Checked, call: Exchange): ToolCallResult {
    const { dialect } = call.client;
    if (!args.ok) {
      return dialect.invalidArguments(
        `${this.#tool.name} was called with invalid arguments: ${args.fault}`,
      );
    }
    try {
      // The handler gets only arguments that its own input schema has accepted.
      const output = this.#tool.handler(args.value as never, this.#contextOf(call));
      if (!isThenable(output)) return this.#result(output, dialect);
      return this.#late(output, dialect);
    } catch (error) {
      return failureOf(error, dialect);
    }
  }

  async #late(output: PromiseLike<unknown>, dialect: Dialect): Promise<JsonObject> {
    let given: unknown;
    try {
      given = await output;
    } catch (error) {
      return failureOf(error, dialect);
    }
    return this.#result(given, dialect);
  }

  #result(given: unknown, dialect: Dialect): ToolCallResult {
    const output = readToolOutput(given);
    const check = this.#compiled().output;
    if (!check || output.isError) return resultOf(output, dialect);
    const checked = check(output.structured);
    if (!isThenable(checked)) return this.#conforming(output, checked, dialect);
    return checked.then((late) => this.#conforming(output, late, dialect));
  }

  #conforming(output: CheckedOutput, checked: Checked, dialect: Dialect): JsonObject {
    if (checked.ok) {
      const structured = checked.value as JsonObject;
      return resultOf({ ...output, structured }, dialect);
    }
    throw new TypeError(`${this.#tool.name} gave what its outputSchema refuses: ${checked.fault}`);
  }

  #compiled(): ToolChecks {
    const { inputSchema, outputSchema } = this.#tool;
    return (this.#checks ??= {
      input: checkOf(inputSchema, 'input', schemaOf(this.#tool, 'input'), this.#compiler),
      output: outputSchema
        ? checkOf(outputSchema, 'output', schemaOf(this.#tool, 'output'), this.#compiler)
        : undefined,
    });
  }
}

function resultOf({ content, structured, isError, _meta }: CheckedOutput, dialect: Dialect) {
  return dialect.toolResult({
    content: content ?? [textBlock(JSON.stringify(structured))],
    structured,
    isError,
    _meta,
  });
}

/** Makes a result of an error that the model may recover from. Others go on to the router. */
function failureOf(error: unknown, dialect: Dialect): JsonObject {
  if (error instanceof ToolError || error instanceof RuntimeError)
    return dialect.toolFailure(error);
  throw error;
}
