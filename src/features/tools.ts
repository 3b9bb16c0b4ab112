/**
 * tools/list and tools/call.
 *
 * @see MCP 2025-11-25, server/tools
 */
import { isThenable } from '../actors/exchange.ts';
import type { Exchange, RequestHandler } from '../actors/exchange.ts';
import { metaWithApp, uiExtension } from '../protocol/apps.ts';
import { describe, isJsonObject } from '../protocol/classify.ts';
import { textBlock } from '../protocol/content.ts';
import type { CacheHints, Dialect, ToolItem } from '../protocol/dialects/dialect.ts';
import { invalidParams } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { Registry } from './registry.ts';
import { checkOf, jsonSchemaOf } from '../schema/schema.ts';
import type { Checked, SchemaCheck } from '../schema/schema.ts';
import { schemaOf } from '../define/tool.ts';
import type { ErrorExposure, Tool } from '../define/tool.ts';
import { machineOfCall, machineOfTool } from '../define/tool-machine.ts';
import { sessionOf } from '../session/session-scope.ts';
import { stringParam, unknownName } from './feature.ts';
import type { ContextOf, Feature } from './feature.ts';
import { pageOf } from './pagination.ts';
import { readToolOutput } from './output.ts';
import type { CheckedOutput } from './output.ts';
import { failedCall, isMeantForModel } from './tool-failure.ts';

/** What a server's tools share. */
interface ToolsOptions {
  readonly contextOf: ContextOf;
  /** Of a tool that does not say itself; undefined: `show`. */
  readonly errors: ErrorExposure | undefined;
  /** Of their list. */
  readonly caching: CacheHints;
}

/** That some tool has an app. It declares the extension, and answers nothing. */
export const appsFeature: Feature = {
  capabilities: { extensions: { [uiExtension]: {} } },
  handlers: {},
};

export function offersApps(tools: Registry<Tool>): boolean {
  return tools.list().some(({ item }) => item.ui !== undefined);
}

/** The tools of a server. */
export function toolsFeature(tools: Registry<Tool>, options: ToolsOptions): Feature {
  /** By the tool itself, not its name: a tool that replaces it has another schema. */
  const callables = new WeakMap<Tool, CallableTool>();
  const callableOf = (tool: Tool): CallableTool => {
    const known = callables.get(tool);
    if (known) return known;
    const callable = new CallableTool(tool, options);
    callables.set(tool, callable);
    return callable;
  };

  const callTool: RequestHandler = (params, call) => {
    const name = stringParam(params, 'name');
    const tool = tools.get(name);
    if (!tool) throw unknownName('tool', name, tools.keys());
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
        const { dialect } = call.peer;
        const page = pageOf('tools/list', tools.list(), params, session.limits.pageSize);
        const { items, ...next } = page;
        const described = items.map((tool) => dialect.tool(listed(tool)));
        return dialect.cacheable({ tools: described, ...next }, options.caching);
      },
      'tools/call': Object.assign(callTool, {
        resumption: (params: JsonObject | undefined) => {
          const name = params?.['name'];
          const { replay, singleUse } = (typeof name === 'string' && tools.get(name)) || {};
          return { replay, singleUse };
        },
        // A bug of a middleware's is none of the tool's: its message is not for the model.
        recover: (error: unknown, { peer }: Exchange) => {
          if (isMeantForModel(error)) return peer.dialect.toolFailure(error);
          throw error;
        },
      }),
    },
    list: { sources: [tools], changed: 'notifications/tools/list_changed' },
  };
}

/** A tool as a list shows it, with its schemas as JSON Schema. */
function listed(tool: Tool): ToolItem {
  const { inputSchema, outputSchema, ui, _meta } = tool;
  return {
    ...tool,
    ...(ui ? { _meta: metaWithApp(_meta, ui) } : {}),
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
  readonly #options: ToolsOptions;
  #checks: ToolChecks | undefined;

  constructor(tool: Tool, options: ToolsOptions) {
    this.#tool = tool;
    this.#options = options;
  }

  call(args: JsonObject, call: Exchange): ToolCallResult {
    try {
      const checked = this.#compiled().input(args);
      if (!isThenable(checked)) return this.#run(args, checked, call);
      return this.#after(checked, (late) => this.#run(args, late, call), call);
    } catch (error) {
      return this.#failed(error, call);
    }
  }

  #run(given: JsonObject, args: Checked, call: Exchange): ToolCallResult {
    if (!args.ok) {
      return call.peer.dialect.invalidArguments(
        `${this.#tool.name} was called with invalid arguments: ${args.fault}${namesHint(this.#tool, given)}`,
      );
    }
    // The handler gets only arguments that its own input schema has accepted.
    const context = this.#options.contextOf(call);
    const output = this.#tool.handler(args.value as never, context);
    if (machineOfTool(this.#tool)) call.machine = machineOfCall(context);
    if (!isThenable(output)) return this.#result(output, call);
    return this.#after(output, (late) => this.#result(late, call), call);
  }

  #result(given: unknown, call: Exchange): ToolCallResult {
    const { dialect } = call.peer;
    const output = readToolOutput(given);
    const check = this.#compiled().output;
    if (!check || output.isError) return resultOf(output, dialect);
    const checked = check(output.structured);
    if (!isThenable(checked)) return this.#conforming(output, checked, dialect);
    return this.#after(checked, (late) => this.#conforming(output, late, dialect), call);
  }

  #conforming(output: CheckedOutput, checked: Checked, dialect: Dialect): JsonObject {
    if (checked.ok) {
      const structured = checked.value as JsonObject;
      return resultOf({ ...output, structured }, dialect);
    }
    throw new TypeError(`${this.#tool.name} gave what its outputSchema refuses: ${checked.fault}`);
  }

  /** Goes on with what a promise gives; its failure is the call's. */
  async #after<T>(late: PromiseLike<T>, goOn: (value: T) => ToolCallResult, call: Exchange) {
    try {
      const result = goOn(await late);
      return isThenable(result) ? await result : result;
    } catch (error) {
      return this.#failed(error, call);
    }
  }

  #failed(error: unknown, call: Exchange): JsonObject {
    const { name, errors = this.#options.errors ?? 'show' } = this.#tool;
    return failedCall(error, call, { name, errors });
  }

  #compiled(): ToolChecks {
    const { inputSchema, outputSchema } = this.#tool;
    return (this.#checks ??= {
      input: checkOf(inputSchema, 'input', schemaOf(this.#tool, 'input')),
      output: outputSchema && checkOf(outputSchema, 'output', schemaOf(this.#tool, 'output')),
    });
  }
}

/** The names of the tool's arguments, if one was given that is none of them. */
function namesHint(tool: Tool, given: JsonObject): string {
  const { properties } = jsonSchemaOf(tool.inputSchema, 'input', schemaOf(tool, 'input'));
  if (!isJsonObject(properties)) return '';
  const names = Object.keys(properties);
  if (Object.keys(given).every((name) => names.includes(name))) return '';
  return names.length === 0 ? '; it takes none' : `; its arguments are ${names.join(', ')}`;
}

function resultOf({ content, structured, isError, _meta }: CheckedOutput, dialect: Dialect) {
  return dialect.toolResult({
    content: content ?? [textBlock(JSON.stringify(structured))],
    structured,
    isError,
    _meta,
  });
}
