/** What a version of the code offers to clients. */
import { connect } from 'mcp-actors/client';
import type { Connection } from 'mcp-actors/client';
import type { Implementation, JsonObject } from 'mcp-actors';
import type { Code } from './code.ts';

type Ask = (from: Connection) => Promise<readonly unknown[]>;

/** By the notification of its changes: the kinds that a list has, and the requests for them. */
const lists: { readonly [method: string]: readonly (readonly [kind: string, ask: Ask])[] } = {
  'notifications/tools/list_changed': [['tool', (from) => from.listTools()]],
  'notifications/prompts/list_changed': [['prompt', (from) => from.listPrompts()]],
  'notifications/resources/list_changed': [
    ['resource', (from) => from.listResources()],
    ['resource template', (from) => from.listResourceTemplates()],
  ],
};

/** A notification that a list has changed. */
export const isListChange = (method: string): boolean => method in lists;

export class Offer {
  readonly info: Implementation;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
  /** Each list as text, by the notification of its changes. */
  readonly #shown: ReadonlyMap<string, string>;
  /** How many tools, prompts, resources and templates it has, in words. */
  readonly summary: string;
  /** The lists that the code has changed since. */
  readonly #stale: ReadonlySet<string>;

  constructor(
    { server }: Connection,
    items: ReadonlyMap<string, readonly (readonly unknown[])[]>,
    stale: ReadonlySet<string>,
  ) {
    const { info = { name: '', version: '' }, capabilities = {}, instructions } = server ?? {};
    this.info = info;
    this.capabilities = capabilities;
    this.instructions = instructions;
    this.#shown = new Map(
      [...items].map(([method, each]) => [method, JSON.stringify(each.flat())]),
    );
    this.#stale = stale;
    const counted = [...items].flatMap(([method, each]) =>
      each.map(
        ({ length }, at) => `${length} ${lists[method]?.[at]?.[0]}${length === 1 ? '' : 's'}`,
      ),
    );
    this.summary = counted.filter((text) => !text.startsWith('0 ')).join(', ') || 'nothing';
  }

  /** The notifications of the lists that are not the same as those of the code before. */
  differencesFrom(before: Offer | undefined): readonly string[] {
    return [...this.#shown].flatMap(([method, shown]) => {
      const wasShown = before ? before.#shown.get(method) : '[]';
      return shown !== wasShown || (before && before.#stale.has(method)) ? [method] : [];
    });
  }
}

/** Asks the code as a host would. */
export async function offerOf(code: Code): Promise<Offer> {
  const stale = new Set<string>();
  const connection = await connect(
    { transport: code.transport() },
    {
      name: 'dev',
      era: 'legacy',
      report: () => {},
      onNotification: (method) => void stale.add(method),
    },
  );
  const items = new Map<string, readonly (readonly unknown[])[]>();
  for (const [method, kinds] of Object.entries(lists)) {
    const asked = await Promise.allSettled(kinds.map(([, ask]) => ask(connection)));
    // What it does not have is an empty list.
    const all = asked.map((each) => (each.status === 'fulfilled' ? each.value : []));
    items.set(method, all);
  }
  return new Offer(connection, items, stale);
}
