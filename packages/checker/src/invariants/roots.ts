/** The roots: how often the server asks for them, and which list it uses. */
import { Method, isJsonObject } from 'mcp-actors/internal';
import { rootFolders, rootName } from '../roots-folder.ts';
import { idKey, messagesIn } from '../message.ts';
import type { Trace } from '../trace.ts';
import { always, broken, held, shownValue, untried } from './invariant.ts';
import type { Invariant } from './invariant.ts';

export const rootsInvariants: readonly Invariant[] = [
  {
    id: 'last-roots-win',
    title: 'After changes, the newest roots count, whatever order the answers came in.',
    demanded: always(
      'SHOULD',
      'client/roots',
      'Implementation Guidelines',
      'Servers SHOULD: […] Handle root list changes gracefully',
    ),
    needs: 'a tool whose result names the roots, after they have changed: name one with --call',
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
      // A call that fails names no roots.
      if (!isJsonObject(result) || result['isError'] === true) return untried;
      const text = JSON.stringify(result);
      const named = new Set(
        [...text.matchAll(new RegExp(`${rootName}(\\d+)`, 'g'))].map((match) => match[1]),
      );
      const newest = changes % rootFolders;
      if (named.size === 1 && named.has(String(newest))) return held;
      return broken(
        `The roots have changed ${changes} times, so that ${rootName}${newest} is right; ${String(told.params['name'])} told ${shownValue([...named].map((number) => `${rootName}${number}`))}`,
      );
    },
  },
  {
    id: 'one-roots-query',
    title: 'One roots/list at a time: changes during a query cost one more, not one each.',
    demanded: always(
      'advice',
      'client/roots',
      'Implementation Guidelines',
      'Servers SHOULD: […] Handle root list changes gracefully',
    ),
    needs: 'a server that asks for roots, and two changes while a roots/list is unanswered',
    judge: ({ polite }) => {
      const queries = new RootsQueries();
      for (const one of polite.happenings) {
        if (one.kind === 'sent') queries.sent(one.value);
        if (one.kind === 'received') queries.received(one.value);
        const { open, count, allowed } = queries;
        if (open > 1) return broken(`${open} roots/list were unanswered at once`);
        // After a refusal, the server may ask again when it likes.
        if (queries.overlapping > 1 && count > allowed && !refusedSome(polite)) {
          return broken(
            `${queries.overlapping} changes during a roots/list cost more than one roots/list after it`,
          );
        }
      }
      return queries.overlapping > 1 && polite.settled?.ok && !refusedSome(polite) ? held : untried;
    },
  },
];

/** The server's queries of the roots, and how many of them the client's messages account for. */
class RootsQueries {
  count = 0;
  allowed = 0;
  /** The most changes during one query. */
  overlapping = 0;
  readonly #open = new Set<string>();
  /** Changes during the query that is open. A server that cancels it to ask anew keeps them. */
  #changes = 0;

  /** Unanswered queries. */
  get open(): number {
    return this.#open.size;
  }

  sent(line: unknown): void {
    const messages = messagesIn(line);
    // Over HTTP, a stream may be opened or resumed without a message: what it lost is asked again.
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
        // The server waited too long and may ask again.
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
