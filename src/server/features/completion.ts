/**
 * `completion/complete`: completes arguments of prompts and variables of resource templates.
 *
 * @see MCP 2025-11-25, server/utilities/completion
 */
import { isThenable } from '../../actors/request-context.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import { invalidParams } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { ServerCatalog, OfferedFeatures, VisibleItems } from './registry.ts';
import { promptArguments } from '../define/prompt.ts';
import type { Complete, FilledArguments, Resource, ResourceTemplate } from '../define/resource.ts';
import { contextOf } from '../session/session-scope.ts';
import type { Feature } from './feature.ts';
import { summarizeNames, stringParam, unknownNameError } from './feature.ts';
import { findPrompt, unknownArgumentError } from './prompts.ts';
import type { ItemCaller } from './visibility.ts';

/** @see MCP 2025-11-25, schema, "CompleteResult" */
const maxValues = 100;

/** True if any prompt argument or template variable has a completer. */
export function completesSomething({ prompts, resourceTemplates }: OfferedFeatures): boolean {
  return (
    prompts
      .list()
      .some(({ item }) => Object.values(promptArguments(item)).some(({ complete }) => complete)) ||
    resourceTemplates.list().some(({ item }) => Object.values(item.complete ?? {}).some(Boolean))
  );
}

/** Creates the completion feature. */
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
 * Finds the completer of an argument; undefined if it has none.
 *
 * @throws {ProtocolError} -32602 if the prompt, template or argument does not exist
 */
function completerOf(
  catalog: ServerCatalog,
  ref: JsonObject,
  name: string,
  caller: ItemCaller,
): Complete | undefined {
  const { type } = ref;
  switch (type) {
    case 'ref/prompt': {
      const prompt = findPrompt(
        catalog.prompts.visibleTo(caller),
        stringParam(ref, 'name', 'ref.name'),
      );
      const known = promptArguments(prompt);
      if (!Object.hasOwn(known, name)) throw unknownArgumentError(prompt, name);
      return known[name]?.complete;
    }
    case 'ref/resource': {
      const uri = stringParam(ref, 'uri', 'ref.uri');
      const templates = catalog.resourceTemplates.visibleTo(caller);
      return variableCompleter(templates, catalog.resources.visibleTo(caller), uri, name);
    }
    default:
      throw invalidParams(
        `"ref.type" must be "ref/prompt" or "ref/resource", got ${inspectValue(type)}`,
      );
  }
}

function variableCompleter(
  templates: VisibleItems<ResourceTemplate>,
  resources: VisibleItems<Resource>,
  uri: string,
  name: string,
): Complete | undefined {
  const template = templates.get(uri);
  const variables = template?.variables ?? [];
  if (!template && !resources.get(uri)) {
    throw unknownNameError('resource template', uri, templates.keys());
  }
  if (!variables.includes(name)) {
    throw invalidParams(
      `${inspectValue(uri)} has no variable ${inspectValue(name)}, its variables are ${summarizeNames(variables)}`,
    );
  }
  const completers = template?.complete ?? {};
  return Object.hasOwn(completers, name) ? completers[name] : undefined;
}

function objectParam(params: JsonObject | undefined, name: string): JsonObject {
  const value = params?.[name];
  if (isJsonObject(value)) return value;
  throw invalidParams(`"${name}" must be an object, got ${inspectValue(value)}`);
}

/** Parses the arguments that the user has already filled in. */
function readFilled(context: unknown): FilledArguments {
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

/** Validates the return value of a completer. */
function readValues(name: string, given: unknown): readonly string[] {
  const list: readonly unknown[] | undefined = Array.isArray(given) ? given : undefined;
  if (list?.every((value) => typeof value === 'string')) return list;
  const fault = list?.findIndex((value) => typeof value !== 'string');
  const what =
    fault === undefined ? inspectValue(given) : `a list with a non-string at index ${fault}`;
  throw new TypeError(
    `the completer of ${inspectValue(name)} must return a list of strings, got ${what}`,
  );
}
