/** Lists and capabilities of one version of the code. */
import { connect } from 'mcp-actors/client';
import type { Connection } from 'mcp-actors/client';
import { ProtocolError, RuntimeError } from 'mcp-actors';
import type { Implementation, JsonObject, Report } from 'mcp-actors';
import type { Code } from './code.ts';

const methodNotFound = -32601;

type Ask = (from: Connection) => Promise<readonly unknown[]>;

/** Kinds of items and their list requests, by the notification of changes. */
const lists: { readonly [method: string]: readonly (readonly [kind: string, ask: Ask])[] } = {
  'notifications/tools/list_changed': [['tool', (from) => from.listTools()]],
  'notifications/prompts/list_changed': [['prompt', (from) => from.listPrompts()]],
  'notifications/resources/list_changed': [
    ['resource', (from) => from.listResources()],
    ['resource template', (from) => from.listResourceTemplates()],
  ],
};

/** True for notifications of list changes. */
export const isListChange = (method: string): boolean => method in lists;

export class Offer {
  readonly info: Implementation;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
  /** Serialized lists, by the notification of changes. */
  readonly #shown: ReadonlyMap<string, string>;
  /** Counts of tools, prompts, resources and templates, for people. */
  readonly summary: string;
  /** Lists that have changed since they were read. */
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

  /** Notifications for the lists that differ from the previous version's. */
  differencesFrom(before: Offer | undefined): readonly string[] {
    return [...this.#shown].flatMap(([method, shown]) => {
      const wasShown = before ? before.#shown.get(method) : '[]';
      return shown !== wasShown || (before && before.#stale.has(method)) ? [method] : [];
    });
  }
}

/**
 * Reads the lists as a host would.
 *
 * @throws {Error} if the process has ended or does not answer
 */
export async function offerOf(code: Code, report: Report): Promise<Offer> {
  const stale = new Set<string>();
  const connection = await connect(
    { transport: code.transport() },
    {
      name: 'dev',
      era: 'legacy',
      report,
      onNotification: (method) => void stale.add(method),
    },
  );
  const items = new Map<string, readonly (readonly unknown[])[]>();
  for (const [method, kinds] of Object.entries(lists)) {
    const all = kinds.map(([kind, ask]) =>
      ask(connection).catch((error: unknown) => insteadOf(error, kind, report)),
    );
    items.set(method, await Promise.all(all));
  }
  return new Offer(connection, items, stale);
}

/** Replaces a rejected list by an empty one. */
function insteadOf(error: unknown, kind: string, report: Report): readonly unknown[] {
  if (error instanceof RuntimeError && error.code === 'CAPABILITY_MISSING') return [];
  // Without an answer the other lists are unknown, too.
  if (!(error instanceof ProtocolError)) throw error;
  if (error.code === methodNotFound) return [];
  const message = `The list of ${kind}s failed: ${error.message}`;
  report({ level: 'warning', name: 'dev.list-failed', message, details: { error } });
  return [];
}
