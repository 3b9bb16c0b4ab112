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
    needs: 'a server that asks for roots',
    judge: ({ polite }) => {
      const open = new Set<string>();
      const calls = polite.calls.some(({ message }) => message['method'] === Method.rootsList);
      for (const one of polite.happenings) {
        if (one.kind === 'sent') {
          for (const { id, method } of messagesIn(one.value))
            if (method === undefined) open.delete(idKey(id));
        } else if (one.kind === 'received') {
          for (const { id, method, params } of messagesIn(one.value)) {
            if (method === Method.cancelled && isJsonObject(params))
              open.delete(idKey(params['requestId']));
            if (method === Method.rootsList) open.add(idKey(id));
          }
          if (open.size > 1) return broken(`${open.size} roots/list were unanswered at once`);
        }
      }
      return calls ? held : untried;
    },
  },
];

/** After a refusal, the server may assume any roots. */
function refusedSome(trace: Trace): boolean {
  return trace.happenings.some(
    (one) => one.kind === 'sent' && messagesIn(one.value).some((message) => 'error' in message),
  );
}
