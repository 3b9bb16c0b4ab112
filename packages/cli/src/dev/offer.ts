/** What a version of the code offers to clients. */
import { connect } from 'mcp-actors/client';
import type { Connection } from 'mcp-actors/client';
import type { Implementation, JsonObject } from 'mcp-actors';
import type { Code } from './code.ts';

/** By the notification of its changes: what asks for a list. */
const lists = {
  'notifications/tools/list_changed': (from: Connection) => [from.listTools()],
  'notifications/prompts/list_changed': (from: Connection) => [from.listPrompts()],
  'notifications/resources/list_changed': (from: Connection) => [
    from.listResources(),
    from.listResourceTemplates(),
  ],
} as const;

/** A notification that a list has changed. */
export const isListChange = (method: string): boolean => method in lists;

export class Offer {
  readonly info: Implementation;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
  /** Each list as text, by the notification of its changes. */
  readonly #shown: ReadonlyMap<string, string>;
  /** How many tools, prompts and resources it has, in words. */
  readonly summary: string;
  /** The lists that the code has changed since. */
  readonly #stale: ReadonlySet<string>;

  constructor(
    { server }: Connection,
    items: ReadonlyMap<string, readonly unknown[]>,
    stale: ReadonlySet<string>,
  ) {
    const { info = { name: '', version: '' }, capabilities = {}, instructions } = server ?? {};
    this.info = info;
    this.capabilities = capabilities;
    this.instructions = instructions;
    this.#shown = new Map([...items].map(([method, list]) => [method, JSON.stringify(list)]));
    this.#stale = stale;
    const counted = [...items].map(([method, { length }]) => {
      const [, kind = ''] = method.split('/');
      return length === 1 ? `1 ${kind.slice(0, -1)}` : `${length} ${kind}`;
    });
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
  const items = new Map<string, readonly unknown[]>();
  for (const [method, ask] of Object.entries(lists)) {
    const asked = await Promise.allSettled<readonly unknown[]>(ask(connection));
    // What it does not have is an empty list.
    const all = asked.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    items.set(method, all);
  }
  return new Offer(connection, items, stale);
}
