/**
 * `tools/list` and `tools/call`.
 *
 * @see MCP 2025-11-25, server/tools
 */
import { isThenable } from '../../actors/request-context.ts';
import type { RequestContext, RequestHandler } from '../../actors/request-context.ts';
import { metaWithApp, uiExtension } from '../../protocol/apps.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { ToolItem, ToolResultItem } from '../../protocol/dialects/dialect.ts';
import { invalidParams } from '../../protocol/errors.ts';
import { latestHandshake } from '../../protocol/dialects/registry.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { OfferedItems } from './registry.ts';
import { checkOf, jsonSchemaOf } from '../../../packages/schema/src/schema.ts';
import type { SchemaCheck } from '../../../packages/schema/src/schema.ts';
import type { Checked } from '../../../packages/schema/src/schema-run.ts';
import { schemaLabel } from '../define/tool.ts';
import type { Tool } from '../define/tool.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { machineOfTool, runMachine } from '../define/tool-machine.ts';
import { contextOf, scopeOfCall } from '../session/session-scope.ts';
import { stringParam, unknownNameError } from './feature.ts';
import type { Feature, CurrentSettings } from './feature.ts';
import { pageOf } from './pagination.ts';
import { asCall, isResumable } from './task-tools.ts';
import { readToolOutput } from './output.ts';
import { failedCall, isMeantForModel } from './tool-failure.ts';

/** Feature that declares the apps extension, without methods. */
export const appsFeature: Feature = {
  capabilities: { extensions: { [uiExtension]: {} } },
  handlers: {},
};

export function offersApps(tools: OfferedItems<Tool>): boolean {
  return tools.list().some(({ item }) => item.ui !== undefined);
}

/** Creates the tools feature. */
export function toolsFeature(tools: OfferedItems<Tool>, settings: CurrentSettings): Feature {
  /** Compiled tools, keyed by object because a replacement may have the same name. */
  const callables = new WeakMap<Tool, CallableTool>();

  const callTool: RequestHandler = (params, call) => {
    const { name, arguments: given } = params ?? {};
    const args = given ?? {};
    const seen = tools.visibleTo(call.request);
    const tool = typeof name === 'string' ? seen.get(name) : undefined;
    if (!tool) throw unknownNameError('tool', stringParam(params, 'name'), seen.keys());
    if (!isJsonObject(args)) {
      throw invalidParams(`"arguments" must be an object, got ${inspectValue(args)}`);
    }
    let callable = callables.get(tool);
    if (!callable) {
      callable = new CallableTool(tool, settings);
      callables.set(tool, callable);
    }
    return callable.call(args, call);
  };

  return {
    capabilities: { tools: { listChanged: true } },
    handlers: {
      'tools/list': (params, call) => {
        const session = scopeOfCall(call);
        const { dialect } = call.request.peer;
        const page = pageOf(
          'tools/list',
          tools.listFor(call.request),
          params,
          session.limits.pageSize,
        );
        const { items, ...next } = page;
        const canResume = session.durable?.canResume === true;
        const described = items.map((tool) =>
          dialect.tool(toolItem(canResume && isResumable(tool) ? asCall(tool) : tool)),
        );
        const caching = tools.cacheHintsFor(settings.caching.tools);
        return dialect.cacheable({ tools: described, ...next }, caching);
      },
      'tools/call': Object.assign(callTool, {
        resumption: (params: JsonObject | undefined) => {
          const name = params?.['name'];
          const { replay, singleUse } = (typeof name === 'string' && tools.get(name)) || {};
          return { replay, singleUse };
        },
        // Unexpected errors of middleware are not shown to the model.
        recover: (error: unknown, { request: { peer } }: RequestContext) => {
          if (isMeantForModel(error)) return peer.dialect.toolFailure(error);
          throw error;
        },
      }),
    },
    list: {
      capability: 'tools',
      sources: [tools],
      notification: 'notifications/tools/list_changed',
      describeItems: () => tools.list().map(({ item }) => latestHandshake.tool(toolItem(item))),
    },
  };
}

/** List entry of a tool, with its schemas as JSON Schema. */
function toolItem(tool: Tool): ToolItem {
  const { inputSchema, outputSchema, ui, _meta } = tool;
  return {
    ...tool,
    ...(ui ? { _meta: metaWithApp(_meta, ui) } : {}),
    inputSchema: jsonSchemaOf(inputSchema, 'input', schemaLabel(tool, 'input')),
    outputSchema: outputSchema && jsonSchemaOf(outputSchema, 'output', schemaLabel(tool, 'output')),
  };
}

type ToolCallResult = JsonObject | Promise<JsonObject>;

/** A tool with its compiled schemas. */
class CallableTool {
  readonly #tool: Tool;
  readonly #checkInput: SchemaCheck;
  readonly #checkOutput: SchemaCheck | undefined;
  readonly #isMachine: boolean;
  readonly #settings: CurrentSettings;

  constructor(tool: Tool, settings: CurrentSettings) {
    const { inputSchema, outputSchema } = tool;
    this.#tool = tool;
    this.#checkInput = checkOf(inputSchema, 'input', schemaLabel(tool, 'input'));
    this.#checkOutput =
      outputSchema && checkOf(outputSchema, 'output', schemaLabel(tool, 'output'));
    this.#isMachine = machineOfTool(tool) !== undefined;
    this.#settings = settings;
  }

  call(args: JsonObject, call: RequestContext): ToolCallResult {
    try {
      const checked = this.#checkInput(args);
      if (!(checked instanceof Promise)) return this.#run(args, checked, call);
      return this.#after(checked, (late) => this.#run(args, late, call), call);
    } catch (error) {
      return this.#failed(error, call);
    }
  }

  #run(given: JsonObject, args: Checked, call: RequestContext): ToolCallResult {
    if (!args.ok) {
      return call.request.peer.dialect.invalidArguments(
        `Invalid arguments for ${this.#tool.name}: ${args.fault}${namesHint(this.#tool, given)}`,
      );
    }
    const context = contextOf(call);
    // The arguments conform to the tool's input schema.
    const output = this.#isMachine
      ? this.#runMachine(args.value, context, call)
      : this.#tool.handler(args.value as never, context);
    if (output instanceof Promise || isThenable(output)) {
      return this.#after(output, (late) => this.#result(late, call), call);
    }
    return this.#result(output, call);
  }

  #runMachine(input: unknown, context: HandlerContext, call: RequestContext): unknown {
    const { hostClock: clock } = scopeOfCall(call);
    return runMachine(this.#tool, input, context, {
      clock,
      journal: call.journal,
      onStarted: (actor) => {
        call.machine = actor;
      },
    });
  }

  #result(given: unknown, call: RequestContext): ToolCallResult {
    const output = readToolOutput(given, this.#tool.name);
    const check = this.#checkOutput;
    if (!check || output.isError) return call.request.peer.dialect.toolResult(output);
    const checked = check(output.structured);
    if (!(checked instanceof Promise)) return this.#conforming(output, checked, call);
    return this.#after(checked, (late) => this.#conforming(output, late, call), call);
  }

  #conforming(output: ToolResultItem, checked: Checked, call: RequestContext): JsonObject {
    if (checked.ok) {
      const structured = checked.value as JsonObject;
      return call.request.peer.dialect.toolResult({ ...output, structured });
    }
    throw new TypeError(
      `The result of ${this.#tool.name} must conform to its outputSchema: ${checked.fault}`,
    );
  }

  /** Continues with the value of a promise. A rejection fails the call. */
  async #after<T>(late: PromiseLike<T>, next: (value: T) => ToolCallResult, call: RequestContext) {
    try {
      const result = next(await late);
      return result instanceof Promise ? await result : result;
    } catch (error) {
      return this.#failed(error, call);
    }
  }

  #failed(error: unknown, call: RequestContext): JsonObject {
    const { name, errors = this.#settings.errors ?? 'show' } = this.#tool;
    return failedCall(error, call, { name, errors });
  }
}

/** Hint with the valid argument names if the call has an unknown one. */
function namesHint(tool: Tool, given: JsonObject): string {
  const { properties } = jsonSchemaOf(tool.inputSchema, 'input', schemaLabel(tool, 'input'));
  if (!isJsonObject(properties)) return '';
  const names = Object.keys(properties);
  if (Object.keys(given).every((name) => names.includes(name))) return '';
  return names.length === 0
    ? '; the tool takes no arguments'
    : `; its arguments are ${names.join(', ')}`;
}
