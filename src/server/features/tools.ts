/**
 * tools/list and tools/call.
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
import { schemaOf } from '../define/tool.ts';
import type { Tool } from '../define/tool.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { machineOfTool, runMachine } from '../define/tool-machine.ts';
import { contextOf, scopeOfCall } from '../session/session-scope.ts';
import { stringParam, unknownName } from './feature.ts';
import type { Feature, InForce } from './feature.ts';
import { pageOf } from './pagination.ts';
import { asCall, isResumable } from './task-tools.ts';
import { readToolOutput } from './output.ts';
import { failedCall, isMeantForModel } from './tool-failure.ts';

/** Declares the extension for apps. It answers no method. */
export const appsFeature: Feature = {
  capabilities: { extensions: { [uiExtension]: {} } },
  handlers: {},
};

export function offersApps(tools: OfferedItems<Tool>): boolean {
  return tools.list().some(({ item }) => item.ui !== undefined);
}

/** The tools of a server. */
export function toolsFeature(tools: OfferedItems<Tool>, inForce: InForce): Feature {
  /** By the tool itself, not its name: a tool that replaces it has another schema. */
  const callables = new WeakMap<Tool, CallableTool>();

  const callTool: RequestHandler = (params, call) => {
    const { name, arguments: given } = params ?? {};
    const args = given ?? {};
    const seen = tools.seenBy(call.request);
    const tool = typeof name === 'string' ? seen.get(name) : undefined;
    if (!tool) throw unknownName('tool', stringParam(params, 'name'), seen.keys());
    if (!isJsonObject(args)) {
      throw invalidParams(`"arguments" must be an object, this is ${inspectValue(args)}`);
    }
    let callable = callables.get(tool);
    if (!callable) {
      callable = new CallableTool(tool, inForce);
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
          tools.listedTo(call.request),
          params,
          session.limits.pageSize,
        );
        const { items, ...next } = page;
        const canResume = session.durable?.canResume === true;
        const described = items.map((tool) =>
          dialect.tool(listed(canResume && isResumable(tool) ? asCall(tool) : tool)),
        );
        const caching = tools.cachedAs(inForce.caching.tools);
        return dialect.cacheable({ tools: described, ...next }, caching);
      },
      'tools/call': Object.assign(callTool, {
        resumption: (params: JsonObject | undefined) => {
          const name = params?.['name'];
          const { replay, singleUse } = (typeof name === 'string' && tools.get(name)) || {};
          return { replay, singleUse };
        },
        // If a middleware has a bug, its message is not for the model.
        recover: (error: unknown, { request: { peer } }: RequestContext) => {
          if (isMeantForModel(error)) return peer.dialect.toolFailure(error);
          throw error;
        },
      }),
    },
    list: {
      capability: 'tools',
      sources: [tools],
      changed: 'notifications/tools/list_changed',
      shown: () => tools.list().map(({ item }) => latestHandshake.tool(listed(item))),
    },
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

type ToolCallResult = JsonObject | Promise<JsonObject>;

/** A tool with everything that its calls need, made once. */
class CallableTool {
  readonly #tool: Tool;
  readonly #checkInput: SchemaCheck;
  readonly #checkOutput: SchemaCheck | undefined;
  readonly #isMachine: boolean;
  readonly #inForce: InForce;

  constructor(tool: Tool, inForce: InForce) {
    const { inputSchema, outputSchema } = tool;
    this.#tool = tool;
    this.#checkInput = checkOf(inputSchema, 'input', schemaOf(tool, 'input'));
    this.#checkOutput = outputSchema && checkOf(outputSchema, 'output', schemaOf(tool, 'output'));
    this.#isMachine = machineOfTool(tool) !== undefined;
    this.#inForce = inForce;
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
        `${this.#tool.name} was called with invalid arguments: ${args.fault}${namesHint(this.#tool, given)}`,
      );
    }
    const context = contextOf(call);
    // The tool's own input schema has accepted them.
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
      started: (actor) => {
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
    throw new TypeError(`${this.#tool.name} gave what its outputSchema refuses: ${checked.fault}`);
  }

  /** Goes on with what a promise gives. If it fails, the call fails. */
  async #after<T>(late: PromiseLike<T>, goOn: (value: T) => ToolCallResult, call: RequestContext) {
    try {
      const result = goOn(await late);
      return result instanceof Promise ? await result : result;
    } catch (error) {
      return this.#failed(error, call);
    }
  }

  #failed(error: unknown, call: RequestContext): JsonObject {
    const { name, errors = this.#inForce.errors ?? 'show' } = this.#tool;
    return failedCall(error, call, { name, errors });
  }
}

/** The names of the tool's arguments, if the call gave one that it does not have. */
function namesHint(tool: Tool, given: JsonObject): string {
  const { properties } = jsonSchemaOf(tool.inputSchema, 'input', schemaOf(tool, 'input'));
  if (!isJsonObject(properties)) return '';
  const names = Object.keys(properties);
  if (Object.keys(given).every((name) => names.includes(name))) return '';
  return names.length === 0 ? '; it takes none' : `; its arguments are ${names.join(', ')}`;
}
