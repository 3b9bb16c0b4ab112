/** What a version of the code offers to clients. */
import { connect } from 'mcp-actors/client';
import type { Connection } from 'mcp-actors/client';
import { ProtocolError, RuntimeError } from 'mcp-actors';
import type { Implementation, JsonObject, Report } from 'mcp-actors';
import type { Code } from './code.ts';

const methodNotFound = -32601;

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

/**
 * Asks the code as a host would.
 *
 * @throws {Error} the process has ended, or does not answer
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

/** The list that stands for one that was refused: a missing one is empty, and so is one that fails. */
function insteadOf(error: unknown, kind: string, report: Report): readonly unknown[] {
  if (error instanceof RuntimeError && error.code === 'CAPABILITY_MISSING') return [];
  // Without an answer nothing is known of the other lists, either.
  if (!(error instanceof ProtocolError)) throw error;
  if (error.code === methodNotFound) return [];
  const message = `The list of ${kind}s failed: ${error.message}`;
  report({ level: 'warning', name: 'dev.list-failed', message, details: { error } });
  return [];
}
