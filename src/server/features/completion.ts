/**
 * completion/complete: completes the arguments of prompts and the variables of resource templates.
 *
 * @see MCP 2025-11-25, server/utilities/completion
 */
import { isThenable } from '../../actors/request-context.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import { invalidParams } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { ServerCatalog, OfferedFeatures, SeenItems } from './registry.ts';
import { promptArguments } from '../define/prompt.ts';
import type { Complete, Filled, Resource, ResourceTemplate } from '../define/resource.ts';
import { contextOf } from '../session/session-scope.ts';
import type { Feature } from './feature.ts';
import { someOf, stringParam, unknownName } from './feature.ts';
import { findPrompt, unknownArgument } from './prompts.ts';
import type { ItemAsker } from './visibility.ts';

/** @see MCP 2025-11-25, schema, "CompleteResult" */
const maxValues = 100;

/** Whether any argument of a prompt or variable of a template can be completed. */
export function completesSomething({ prompts, resourceTemplates }: OfferedFeatures): boolean {
  return (
    prompts
      .list()
      .some(({ item }) => Object.values(promptArguments(item)).some(({ complete }) => complete)) ||
    resourceTemplates.list().some(({ item }) => Object.values(item.complete ?? {}).some(Boolean))
  );
}

/** Completion. */
export function completionFeature(catalog: ServerCatalog): Feature {
  return {
    capabilities: { completions: {} },
    handlers: {
      'completion/complete': (params, call) => {
        const argument = objectParam(params, 'argument');
        const name = stringParam(argument, 'name', 'argument.name');
        const value = stringParam(argument, 'value', 'argument.value');
        const complete = completerOf(catalog, objectParam(params, 'ref'), name, call.request);
        const { dialect } = call.request.peer;
        const filled = readFilled(dialect.completionContext(params));
        const values: unknown = complete ? complete(value, filled, contextOf(call)) : [];
        if (!isThenable(values)) return resultOf(name, values);
        return Promise.resolve(values).then((late) => resultOf(name, late));
      },
    },
  };
}

/**
 * The author's completer of this argument, if there is one.
 *
 * @throws {ProtocolError} -32602 the prompt, the template or the argument does not exist
 */
function completerOf(
  catalog: ServerCatalog,
  ref: JsonObject,
  name: string,
  asker: ItemAsker,
): Complete | undefined {
  const { type } = ref;
  switch (type) {
    case 'ref/prompt': {
      const prompt = findPrompt(
        catalog.prompts.seenBy(asker),
        stringParam(ref, 'name', 'ref.name'),
      );
      const known = promptArguments(prompt);
      if (!Object.hasOwn(known, name)) throw unknownArgument(prompt, name);
      return known[name]?.complete;
    }
    case 'ref/resource': {
      const uri = stringParam(ref, 'uri', 'ref.uri');
      const templates = catalog.resourceTemplates.seenBy(asker);
      return variableCompleter(templates, catalog.resources.seenBy(asker), uri, name);
    }
    default:
      throw invalidParams(
        `"ref.type" must be "ref/prompt" or "ref/resource", this is ${inspectValue(type)}`,
      );
  }
}

function variableCompleter(
  templates: SeenItems<ResourceTemplate>,
  resources: SeenItems<Resource>,
  uri: string,
  name: string,
): Complete | undefined {
  const template = templates.get(uri);
  const variables = template?.variables ?? [];
  if (!template && !resources.get(uri)) {
    throw unknownName('resource template', uri, templates.keys());
  }
  if (!variables.includes(name)) {
    throw invalidParams(
      `${inspectValue(uri)} has no variable ${inspectValue(name)}; it has ${someOf(variables)}`,
    );
  }
  const completers = template?.complete ?? {};
  return Object.hasOwn(completers, name) ? completers[name] : undefined;
}

function objectParam(params: JsonObject | undefined, name: string): JsonObject {
  const value = params?.[name];
  if (isJsonObject(value)) return value;
  throw invalidParams(`"${name}" must be an object, this is ${inspectValue(value)}`);
}

/** The values that the user has already filled in. */
function readFilled(context: unknown): Filled {
  if (context === undefined || context === null) return {};
  const given = isJsonObject(context) ? (context['arguments'] ?? {}) : undefined;
  if (!isJsonObject(given)) {
    throw invalidParams(`"context" must be an object with "arguments", an object of strings`);
  }
  const filled = Object.keys(given).map((name): [string, string] => [
    name,
    stringParam(given, name, `context.arguments.${name}`),
  ]);
  return Object.fromEntries(filled);
}

function resultOf(name: string, given: unknown): JsonObject {
  const values = readValues(name, given);
  return {
    completion: {
      values: values.slice(0, maxValues),
      total: values.length,
      hasMore: values.length > maxValues,
    },
  };
}

/** Checks what an author's completer gave. */
function readValues(name: string, given: unknown): readonly string[] {
  const list: readonly unknown[] | undefined = Array.isArray(given) ? given : undefined;
  if (list?.every((value) => typeof value === 'string')) return list;
  const fault = list?.findIndex((value) => typeof value !== 'string');
  const what = fault === undefined ? inspectValue(given) : `a list with something else at ${fault}`;
  throw new TypeError(
    `completing ${inspectValue(name)} must give a list of strings, this is ${what}`,
  );
}
