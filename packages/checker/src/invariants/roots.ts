/** Invariants on roots: how often the server queries them, and which list it uses. */
import { Method, isJsonObject } from 'mcp-actors/internal';
import { rootFolders, rootName } from '../roots-folder.ts';
import { idKey, messagesIn } from '../message.ts';
import type { Trace } from '../trace.ts';
import { always, broken, held, formatValue, untried } from './invariant.ts';
import type { Invariant } from './invariant.ts';

export const rootsInvariants: readonly Invariant[] = [
  {
    id: 'last-roots-win',
    title: 'After changes, the newest roots count, regardless of the order of answers.',
    demanded: always(
      'SHOULD',
      'client/roots',
      'Implementation Guidelines',
      'Servers SHOULD: […] Handle root list changes gracefully',
    ),
    needs: 'a tool whose result names the roots, called after a change: name one with --call',
    judge: ({ polite, rootsTools }) => {
      const changes = polite.places('roots-changed').length;
      const { settled, offered } = polite;
      if (changes === 0 || !settled?.ok || !isJsonObject(offered?.['roots'])) return untried;
      if (refusedSome(polite)) return untried;
      const told = [...polite.clientRequests.values()].findLast(
        ({ method, params }) =>
          method === 'tools/call' && rootsTools.includes(String(params['name'])),
      );
      const answer = told && polite.answersTo(told.id)[0];
      if (!told || !answer || polite.cancelled.has(idKey(told.id))) return untried;
      const { result } = answer.message;
      // A failed call names no roots.
      if (!isJsonObject(result) || result['isError'] === true) return untried;
      const text = JSON.stringify(result);
      const named = new Set(
        [...text.matchAll(new RegExp(`${rootName}(\\d+)`, 'g'))].map((match) => match[1]),
      );
      const newest = changes % rootFolders;
      if (named.size === 1 && named.has(String(newest))) return held;
      return broken(
        `After ${changes} changes of the roots, ${rootName}${newest} is current, but ${String(told.params['name'])} returned ${formatValue([...named].map((number) => `${rootName}${number}`))}`,
      );
    },
  },
  {
    id: 'one-roots-query',
    title: 'One roots/list at a time: changes during a query cause one more, not one each.',
    demanded: always(
      'advice',
      'client/roots',
      'Implementation Guidelines',
      'Servers SHOULD: […] Handle root list changes gracefully',
    ),
    needs: 'a server that queries roots, and two changes while roots/list is unanswered',
    judge: ({ polite }) => {
      const queries = new RootsQueries();
      for (const one of polite.happenings) {
        if (one.kind === 'sent') queries.sent(one.value);
        if (one.kind === 'received') queries.received(one.value);
        const { open, count, allowed } = queries;
        if (open > 1) return broken(`${open} roots/list requests were unanswered at once`);
        // After a refusal, the server may query again at any time.
        if (queries.overlapping > 1 && count > allowed && !refusedSome(polite)) {
          return broken(
            `${queries.overlapping} changes during a roots/list caused more than one further roots/list`,
          );
        }
      }
      return queries.overlapping > 1 && polite.settled?.ok && !refusedSome(polite) ? held : untried;
    },
  },
];

/** Counts the server's roots queries and how many the client's messages justify. */
class RootsQueries {
  count = 0;
  allowed = 0;
  /** Maximum number of changes during one query. */
  overlapping = 0;
  readonly #open = new Set<string>();
  /** Changes during the open query. A server that cancels and repeats it keeps them. */
  #changes = 0;

  /** Number of unanswered queries. */
  get open(): number {
    return this.#open.size;
  }

  sent(line: unknown): void {
    const messages = messagesIn(line);
    // Over HTTP, opening or resuming a stream may trigger a new query, because messages may have
    // been lost.
    if (messages.length === 0) this.allowed++;
    for (const { id, method } of messages) {
      if (method === undefined) {
        if (this.#open.delete(idKey(id))) this.#changes = 0;
      } else if (method === Method.rootsListChanged && this.open > 0) {
        this.#changes++;
        this.overlapping = Math.max(this.overlapping, this.#changes);
        if (this.#changes === 1) this.allowed++;
      } else if (method !== Method.ping && method !== Method.initialize) this.allowed++;
    }
  }

  received(line: unknown): void {
    for (const { id, method, params } of messagesIn(line)) {
      if (method === Method.cancelled && isJsonObject(params)) {
        // The query timed out; the server may repeat it.
        const isOpen = this.#open.delete(idKey(params['requestId']));
        if (isOpen && this.#changes === 0) this.allowed++;
      } else if (method === Method.rootsList) {
        this.#open.add(idKey(id));
        this.count++;
      }
    }
  }
}

/** After a refusal, the server may assume any roots. */
function refusedSome(trace: Trace): boolean {
  return trace.happenings.some(
    (one) => one.kind === 'sent' && messagesIn(one.value).some((message) => 'error' in message),
  );
}
