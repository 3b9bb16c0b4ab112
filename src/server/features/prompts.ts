/**
 * prompts/list and prompts/get.
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
import type { OfferedItems, SeenItems } from './registry.ts';
import { isStandardSchema, libraryCheckOf } from '../../../packages/schema/src/schema.ts';
import type { SchemaCheck } from '../../../packages/schema/src/schema.ts';
import type { Checked } from '../../../packages/schema/src/schema-run.ts';
import { contextOf, scopeOfCall } from '../session/session-scope.ts';
import type { Feature, InForce } from './feature.ts';
import { someOf, stringParam, unknownName } from './feature.ts';
import { pageOf } from './pagination.ts';
import { readPromptOutput } from './output.ts';

/** The prompts of a server. */
export function promptsFeature(prompts: OfferedItems<Prompt>, inForce: InForce): Feature {
  const shown = (item: Prompt, dialect: Dialect) =>
    dialect.prompt({ ...item, arguments: promptArguments(item) });
  const get = (prompt: Prompt, checked: Checked, call: RequestContext) => {
    if (!checked.ok) {
      throw invalidParams(
        `the prompt ${inspectValue(prompt.name)} was called with invalid arguments: ${checked.fault}`,
      );
    }
    const { dialect } = call.request.peer;
    // The values have passed what the prompt declares.
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
        const list = prompts.listedTo(call.request);
        const { items, ...next } = pageOf('prompts/list', list, params, pageSize);
        const listed = items.map((item) => shown(item, dialect));
        const caching = prompts.cachedAs(inForce.caching.prompts);
        return dialect.cacheable({ prompts: listed, ...next }, caching);
      },
      'prompts/get': (params, call) => {
        const prompt = findPrompt(prompts.seenBy(call.request), stringParam(params, 'name'));
        const checked = checkArguments(prompt, params?.['arguments'] ?? {});
        if (!isThenable(checked)) return get(prompt, checked, call);
        return Promise.resolve(checked).then((late) => get(prompt, late, call));
      },
    },
    list: {
      capability: 'prompts',
      sources: [prompts],
      changed: 'notifications/prompts/list_changed',
      shown: () => prompts.list().map(({ item }) => shown(item, latestHandshake)),
    },
  };
}

/** @throws {ProtocolError} -32602 no prompt has this name */
export function findPrompt(prompts: SeenItems<Prompt>, name: string): Prompt {
  const prompt = prompts.get(name);
  if (prompt) return prompt;
  throw unknownName('prompt', name, prompts.keys());
}

/**
 * Checks what a client has sent: strings, and the prompt's own schema if it has one.
 *
 * @throws {ProtocolError} -32602 naming the argument
 * @see MCP 2025-11-25, server/prompts, "Error Handling"
 */
function checkArguments(prompt: Prompt, values: unknown): ReturnType<SchemaCheck> {
  if (!isJsonObject(values)) {
    throw invalidParams(`"arguments" must be an object, this is ${inspectValue(values)}`);
  }
  const declared = promptArguments(prompt);
  const given = Object.keys(values).map((name): [string, string] => {
    if (!Object.hasOwn(declared, name)) throw unknownArgument(prompt, name);
    return [name, stringParam(values, name, `arguments.${name}`)];
  });
  for (const [name, { required }] of Object.entries(declared)) {
    if (!required || Object.hasOwn(values, name)) continue;
    throw invalidParams(
      `the prompt ${inspectValue(prompt.name)} needs the argument ${inspectValue(name)}`,
    );
  }
  const value = Object.fromEntries(given);
  const { arguments: schema } = prompt;
  return schema && isStandardSchema(schema) ? libraryCheckOf(schema)(value) : { ok: true, value };
}

/** The error for an argument that a prompt does not have. */
export function unknownArgument(prompt: Prompt, name: string) {
  const has = someOf(Object.keys(promptArguments(prompt)));
  return invalidParams(
    `the prompt ${inspectValue(prompt.name)} has no argument ${inspectValue(name)}; it has ${has}`,
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
