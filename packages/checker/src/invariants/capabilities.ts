/** Invariants on declared capabilities, and on rejecting requests for unknown items. */
import type { JsonObject } from 'mcp-actors';
import { isJsonObject } from 'mcp-actors/internal';
import type { MoveType } from '../move.ts';
import type { Trace } from '../trace.ts';
import { always, broken, firstBroken, held, formatValue, untried } from './invariant.ts';
import type { Demand, Invariant, Judgement } from './invariant.ts';

export const capabilityInvariants: readonly Invariant[] = [
  declares(
    'tools',
    'tools/list',
    'tools',
    'Servers that support tools MUST declare the `tools` capability',
  ),
  declares(
    'resources',
    'resources/list',
    'resources',
    'Servers that support resources MUST declare the `resources` capability',
  ),
  declares(
    'prompts',
    'prompts/list',
    'prompts',
    'Servers that support prompts MUST declare the `prompts` capability',
  ),
  {
    id: 'logging-declared',
    title: 'A server that sends log messages declares logging.',
    demanded: always(
      'MUST',
      'server/utilities/logging',
      'Capabilities',
      'Servers that emit log message notifications MUST declare the `logging` capability',
    ),
    needs: 'a server that sends a log message',
    judge: ({ polite }) => {
      const { declared } = polite;
      const [message] = polite.notifications('notifications/message');
      if (!message || !declared) return untried;
      return isJsonObject(declared['logging'])
        ? held
        : broken(`logging is not declared, but this arrived: ${formatValue(message.message)}`);
    },
  },
  {
    id: 'tool-schemas',
    title: 'Every tool has an object as input schema.',
    demanded: (revision) =>
      revision === '2025-11-25'
        ? {
            demand: 'MUST',
            clause: {
              page: 'server/tools',
              heading: 'Tool',
              quote: 'inputSchema: […] MUST be a valid JSON Schema object (not null)',
            },
          }
        : undefined,
    needs: 'a server that declares tools',
    judge: ({ polite }) =>
      firstBroken(
        listed(polite, 'tools/list', 'tools').map((tool) =>
          isJsonObject(tool['inputSchema'])
            ? held
            : broken(
                `The input schema of ${formatValue(tool['name'])} is ${formatValue(tool['inputSchema'])}`,
              ),
        ),
      ),
  },
  refuses({
    id: 'invalid-cursor',
    title: 'An invalid cursor is rejected with -32602.',
    move: 'bad-cursor',
    code: -32602,
    page: 'server/utilities/pagination',
    quote: 'Invalid cursors SHOULD result in an error with code -32602 (Invalid params).',
    needs: 'a server that declares tools, resources or prompts',
  }),
  refuses({
    id: 'resource-not-found',
    title: 'A nonexistent resource is rejected with -32002.',
    move: 'bad-resource',
    code: -32002,
    page: 'server/resources',
    quote:
      'Servers SHOULD return standard JSON-RPC errors for common failure cases: Resource not found: -32002',
    needs: 'a server that declares resources',
  }),
  refuses({
    id: 'prompt-not-found',
    title: 'A nonexistent prompt is rejected with -32602.',
    move: 'bad-prompt',
    code: -32602,
    page: 'server/prompts',
    quote:
      'Servers SHOULD return standard JSON-RPC errors for common failure cases: Invalid prompt name: -32602 (Invalid params)',
    needs: 'a server that declares prompts',
  }),
  refuses({
    id: 'invalid-log-level',
    title: 'An unknown log level is rejected with -32602.',
    move: 'bad-level',
    code: -32602,
    page: 'server/utilities/logging',
    quote:
      'Servers SHOULD return standard JSON-RPC errors for common failure cases: Invalid log level: -32602 (Invalid params)',
    needs: 'a server that declares logging',
  }),
];

function declares(capability: string, method: string, member: string, quote: string): Invariant {
  return {
    id: `${capability}-declared`,
    title: `A server that lists ${capability} declares them.`,
    demanded: always('MUST', `server/${capability}`, 'Capabilities', quote),
    needs: `a server that lists ${capability}`,
    judge: ({ whole }) => {
      const { declared } = whole;
      // An empty list does not prove that the server has any.
      if (!declared || listed(whole, method, member).length === 0) return untried;
      return isJsonObject(declared[capability])
        ? held
        : broken(
            `${method} returns some, but the declared capabilities are ${formatValue(Object.keys(declared))}`,
          );
    },
  };
}

interface Refusal {
  readonly id: string;
  readonly title: string;
  readonly move: MoveType;
  readonly code: number;
  readonly page: string;
  readonly quote: string;
  readonly needs: string;
  readonly demand?: Demand;
}

export function refuses({
  id,
  title,
  move,
  code,
  page,
  quote,
  needs,
  demand = 'SHOULD',
}: Refusal): Invariant {
  return {
    id,
    title,
    demanded: always(demand, page, 'Error Handling', quote),
    needs,
    judge: ({ polite }) =>
      firstBroken(polite.of(move).map((asked) => judgeRefusal(polite, asked.id, code))),
  };
}

export function judgeRefusal(trace: Trace, id: string | number, code: number): Judgement {
  const answer = trace.answersTo(id)[0]?.message;
  if (!answer) return untried;
  const { error } = answer;
  return isJsonObject(error) && error['code'] === code
    ? held
    : broken(`The answer was ${formatValue(answer)}`);
}

/** Items in the results of a list method. */
function listed(trace: Trace, method: string, member: string): readonly JsonObject[] {
  return [...trace.clientRequests.values()]
    .filter((asked) => asked.method === method)
    .flatMap(({ id }) => trace.answersTo(id))
    .flatMap(({ message }) => {
      const result = message['result'];
      const items = isJsonObject(result) ? result[member] : undefined;
      return Array.isArray(items) ? (items as unknown[]).filter(isJsonObject) : [];
    });
}
