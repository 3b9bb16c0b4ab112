/**
 * `prompts/list` and `prompts/get`.
 *
 * @see MCP 2025-11-25, server/prompts
 */
import { isThenable } from '../../actors/request-context.ts';
import type { RequestContext } from '../../actors/request-context.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import { invalidParams } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { Dialect } from '../../protocol/dialects/dialect.ts';
import { latestHandshake } from '../../protocol/dialects/registry.ts';
import { promptArguments } from '../define/prompt.ts';
import type { Prompt } from '../define/prompt.ts';
import type { OfferedItems, VisibleItems } from './registry.ts';
import { isStandardSchema, libraryCheckOf } from '../../../packages/schema/src/schema.ts';
import type { SchemaCheck } from '../../../packages/schema/src/schema.ts';
import type { Checked } from '../../../packages/schema/src/schema-run.ts';
import { contextOf, scopeOfCall } from '../session/session-scope.ts';
import type { Feature, CurrentSettings } from './feature.ts';
import { summarizeNames, stringParam, unknownNameError } from './feature.ts';
import { pageOf } from './pagination.ts';
import { readPromptOutput } from './output.ts';

/** Creates the prompts feature. */
export function promptsFeature(prompts: OfferedItems<Prompt>, settings: CurrentSettings): Feature {
  const shown = (item: Prompt, dialect: Dialect) =>
    dialect.prompt({ ...item, arguments: promptArguments(item) });
  const get = (prompt: Prompt, checked: Checked, call: RequestContext) => {
    if (!checked.ok) {
      throw invalidParams(
        `invalid arguments for the prompt ${inspectValue(prompt.name)}: ${checked.fault}`,
      );
    }
    const { dialect } = call.request.peer;
    // The values conform to the declared arguments.
    const output: unknown = prompt.get(checked.value as never, contextOf(call));
    if (!isThenable(output)) return resultOf(prompt, output, dialect);
    return Promise.resolve(output).then((late) => resultOf(prompt, late, dialect));
  };

  return {
    capabilities: { prompts: { listChanged: true } },
    handlers: {
      'prompts/list': (params, call) => {
        const { dialect } = call.request.peer;
        const { pageSize } = scopeOfCall(call).limits;
        const list = prompts.listFor(call.request);
        const { items, ...next } = pageOf('prompts/list', list, params, pageSize);
        const listed = items.map((item) => shown(item, dialect));
        const caching = prompts.cacheHintsFor(settings.caching.prompts);
        return dialect.cacheable({ prompts: listed, ...next }, caching);
      },
      'prompts/get': (params, call) => {
        const prompt = findPrompt(prompts.visibleTo(call.request), stringParam(params, 'name'));
        const checked = checkArguments(prompt, params?.['arguments'] ?? {});
        if (!isThenable(checked)) return get(prompt, checked, call);
        return Promise.resolve(checked).then((late) => get(prompt, late, call));
      },
    },
    list: {
      capability: 'prompts',
      sources: [prompts],
      notification: 'notifications/prompts/list_changed',
      describeItems: () => prompts.list().map(({ item }) => shown(item, latestHandshake)),
    },
  };
}

/** Finds a prompt. @throws {ProtocolError} -32602 if no prompt has this name */
export function findPrompt(prompts: VisibleItems<Prompt>, name: string): Prompt {
  const prompt = prompts.get(name);
  if (prompt) return prompt;
  throw unknownNameError('prompt', name, prompts.keys());
}

/**
 * Validates the arguments of a client: strings that conform to the prompt's schema, if any.
 *
 * @throws {ProtocolError} -32602 naming the argument
 * @see MCP 2025-11-25, server/prompts, "Error Handling"
 */
function checkArguments(prompt: Prompt, values: unknown): ReturnType<SchemaCheck> {
  if (!isJsonObject(values)) {
    throw invalidParams(`"arguments" must be an object, got ${inspectValue(values)}`);
  }
  const declared = promptArguments(prompt);
  const given = Object.keys(values).map((name): [string, string] => {
    if (!Object.hasOwn(declared, name)) throw unknownArgumentError(prompt, name);
    return [name, stringParam(values, name, `arguments.${name}`)];
  });
  for (const [name, { required }] of Object.entries(declared)) {
    if (!required || Object.hasOwn(values, name)) continue;
    throw invalidParams(
      `the prompt ${inspectValue(prompt.name)} requires the argument ${inspectValue(name)}`,
    );
  }
  const value = Object.fromEntries(given);
  const { arguments: schema } = prompt;
  return schema && isStandardSchema(schema) ? libraryCheckOf(schema)(value) : { ok: true, value };
}

/** Error for an unknown argument of a prompt. */
export function unknownArgumentError(prompt: Prompt, name: string) {
  const known = summarizeNames(Object.keys(promptArguments(prompt)));
  return invalidParams(
    `the prompt ${inspectValue(prompt.name)} has no argument ${inspectValue(name)}, its arguments are ${known}`,
  );
}

function resultOf(prompt: Prompt, output: unknown, dialect: Dialect): JsonObject {
  const { description = prompt.description, messages, _meta } = readPromptOutput(output);
  const contents = dialect.content(messages.map(({ content }) => content));
  return {
    ...(description === undefined ? {} : { description }),
    messages: messages.map(({ role }, at) => ({ role, content: contents[at] })),
    ...(_meta ? { _meta } : {}),
  };
}
