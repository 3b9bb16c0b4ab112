/**
 * Three tools that replace hundreds: find, describe and call a tool. The model reads only the descriptions it asks for.
 */
import { isJsonObject } from '../../../src/protocol/classify.ts';
import { invalidParams } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { closestMatch } from '../../../src/protocol/suggestions.ts';
import { quoted } from '../../../src/protocol/printable.ts';

/** Names of the three tools. They cannot collide with merged names, which have two underscores or a digest. */
export const finderTools = {
  find: 'find_tools',
  describe: 'describe_tool',
  call: 'call_tool',
} as const;

const mostFound = 50;
const usuallyFound = 10;
const longestDescription = 300;

const toolName = { type: 'string', description: 'As find_tools gives it' };

/** List entries of the three tools. */
export const listedFinderTools: readonly JsonObject[] = [
  {
    name: finderTools.find,
    description:
      'Finds tools by what they do. There are more tools than are listed: look here before you say that something cannot be done. Gives names and short descriptions, the best first.',
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          description: 'A few words, such as "create an issue". Empty: all tools',
        },
        limit: { type: 'integer', minimum: 1, maximum: mostFound, default: usuallyFound },
      },
      required: ['query'],
    },
    annotations: { readOnlyHint: true },
  },
  {
    name: finderTools.describe,
    description: 'Everything about one tool, with the schema of its arguments.',
    inputSchema: { type: 'object', properties: { name: toolName }, required: ['name'] },
    annotations: { readOnlyHint: true },
  },
  {
    name: finderTools.call,
    description: 'Calls a tool. Describe it first to know its arguments.',
    inputSchema: {
      type: 'object',
      properties: { name: toolName, arguments: { type: 'object' } },
      required: ['name'],
    },
  },
];

/** Answers a search or description, from the merged list. */
export function answerFinder(
  name: string,
  given: unknown,
  tools: readonly JsonObject[],
): JsonObject {
  const args = isJsonObject(given) ? given : {};
  return name === finderTools.find ? findTools(args, tools) : describeTool(args, tools);
}

function findTools({ query, limit = usuallyFound }: JsonObject, tools: readonly JsonObject[]) {
  if (typeof query !== 'string') throw invalidParams('"query" must be a string');
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1) {
    throw invalidParams('"limit" must be a whole number of at least 1');
  }
  const found = ranked(query, tools);
  const shown = found.slice(0, Math.min(limit, mostFound)).map((tool) => ({
    name: tool['name'],
    description: textOf(tool['description']).slice(0, longestDescription),
  }));
  const lines = shown.map((tool) => `- ${textOf(tool.name)}: ${tool.description}`);
  const rest = found.length - shown.length;
  const more = rest > 0 ? [`(${rest} more)`] : [];
  const text = found.length > 0 ? [...lines, ...more].join('\n') : 'No tool fits: try other words';
  return {
    content: [{ type: 'text', text }],
    structuredContent: { tools: shown, total: found.length },
  };
}

function describeTool({ name }: JsonObject, tools: readonly JsonObject[]): JsonObject {
  if (typeof name !== 'string') throw invalidParams('"name" must be a string');
  const tool = tools.find((each) => each['name'] === name);
  if (tool) {
    const text = JSON.stringify(tool, undefined, 2);
    return { content: [{ type: 'text', text }], structuredContent: tool };
  }
  const names = tools.map((each) => textOf(each['name']));
  const near = closestMatch(name, names);
  const advice = near === undefined ? '' : `. Did you mean ${near}?`;
  const text = `There is no tool ${quoted(name)}${advice}`;
  return { isError: true, content: [{ type: 'text', text }] };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Splits a text into lower-case words: `createIssue` and `create_issue` give the same. */
const wordsOf = (text: string): readonly string[] =>
  text
    .replaceAll(/(?<=[\p{Ll}\d])(?=\p{Lu})/gu, ' ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');

/** Words of a tool, weighted by their place. */
function placesOf(
  tool: JsonObject,
): readonly (readonly [weight: number, words: readonly string[]])[] {
  const schema = tool['inputSchema'];
  const properties = isJsonObject(schema) ? schema['properties'] : undefined;
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  return [
    [4, wordsOf(textOf(tool['name']))],
    [3, wordsOf(textOf(tool['title']))],
    [1, wordsOf(textOf(tool['description']))],
    [1, wordsOf(names.join(' '))],
  ];
}

/** Ranks the tools that contain any of the words. Rare words count more. */
function ranked(query: string, tools: readonly JsonObject[]): readonly JsonObject[] {
  const wanted = [...new Set(wordsOf(query))];
  if (wanted.length === 0) return tools;
  const known = tools.map((tool) => ({ tool, places: placesOf(tool) }));
  const scores = wanted.map((word) => {
    const hits = known.map(({ places }) => scoreOf(word, places));
    const count = hits.filter((hit) => hit > 0).length;
    const rarity = Math.log(1 + tools.length / (1 + count));
    return hits.map((hit) => hit * rarity);
  });
  return known
    .map(({ tool }, at) => ({
      tool,
      score: scores.reduce((sum, hits) => sum + (hits[at] ?? 0), 0),
    }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .map(({ tool }) => tool);
}

/** Scores a word match. Prefixes count half: `issue` matches `issues`. */
function scoreOf(wanted: string, places: ReturnType<typeof placesOf>): number {
  const fit = (word: string): number => {
    if (word === wanted) return 1;
    const isBeginning =
      (wanted.length > 2 && word.startsWith(wanted)) ||
      (word.length > 2 && wanted.startsWith(word));
    return isBeginning ? 0.5 : 0;
  };
  return places.reduce(
    (sum, [weight, words]) =>
      sum + weight * words.reduce((best, word) => Math.max(best, fit(word)), 0),
    0,
  );
}
