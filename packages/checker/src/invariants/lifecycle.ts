/** Invariants on the handshake, the phases around it, and the shutdown. */
import { Method, isJsonObject } from 'mcp-actors/internal';
import { messagesIn } from '../message.ts';
import { unknownRevision } from '../outgoing.ts';
import { formatExit } from '../trace.ts';
import type { Trace } from '../trace.ts';
import { answered } from './answers.ts';
import { always, broken, firstBroken, held, formatValue, silent, untried } from './invariant.ts';
import type { Invariant } from './invariant.ts';

const page = 'basic/lifecycle';

export const lifecycleInvariants: readonly Invariant[] = [
  {
    id: 'initialize',
    title: 'initialize is answered with a revision, capabilities and server information.',
    demanded: always(
      'MUST',
      page,
      'Initialization',
      'The server MUST respond with its own capabilities and information',
    ),
    needs: 'initialize',
    judge: ({ polite }) =>
      firstBroken(
        polite.of('initialize', 'initialize-bare').map((asked) => {
          const answer = polite.answersTo(asked.id)[0]?.message;
          if (!answer) return answered(polite, asked);
          const { result } = answer;
          if (!isJsonObject(result))
            return broken(`initialize was answered with ${formatValue(answer)}`);
          const { protocolVersion, capabilities, serverInfo } = result;
          if (typeof protocolVersion !== 'string')
            return broken(`protocolVersion is ${formatValue(protocolVersion)}`);
          if (!isJsonObject(capabilities))
            return broken(`capabilities is ${formatValue(capabilities)}`);
          return isJsonObject(serverInfo) &&
            typeof serverInfo['name'] === 'string' &&
            typeof serverInfo['version'] === 'string'
            ? held
            : broken(`serverInfo is ${formatValue(serverInfo)}`);
        }),
      ),
  },
  {
    id: 'unknown-revision',
    title: 'A nonexistent revision is answered with another one, or rejected.',
    demanded: always(
      'MUST',
      page,
      'Version Negotiation',
      'If the server supports the requested protocol version, it MUST respond with the same version. Otherwise, the server MUST respond with another protocol version it supports.',
    ),
    needs: 'initialize with an unknown revision',
    judge: ({ polite }) =>
      firstBroken(
        polite.of('initialize-unknown').map(({ id }) => {
          const result = polite.answersTo(id)[0]?.message['result'];
          const refusal = polite.answersTo(id)[0]?.message['error'];
          // Refusing is allowed: it is the specification's own example of an initialization error.
          if (refusal) return held;
          if (!isJsonObject(result)) return untried;
          return result['protocolVersion'] === unknownRevision
            ? broken(`The server claims to speak ${unknownRevision}, which does not exist`)
            : held;
        }),
      ),
  },
  {
    id: 'quiet-before-initialized',
    title: 'Before initialized the server sends no requests except pings.',
    demanded: always(
      'SHOULD',
      page,
      'Initialization',
      'The server SHOULD NOT send requests other than pings and logging before receiving the initialized notification.',
    ),
    needs: 'an answer to initialize, and an answered ping before initialized',
    judge: ({ polite }) => {
      const { greeting } = polite;
      if (!greeting) return untried;
      const [ready = polite.happenings.length] = polite.places('initialized');
      const early = polite.requests.find(
        ({ message, at }) => at < ready && message['method'] !== Method.ping,
      );
      if (early) return broken(`This arrived before initialized: ${formatValue(early.message)}`);
      return polite.waitedBetween(greeting.request.at, ready) ? held : untried;
    },
  },
  {
    id: 'client-capabilities',
    title: 'The server requests nothing that the client has not declared.',
    demanded: (revision) => ({
      // 2024-11-05 and 2025-03-26 use SHOULD.
      demand: revision < '2025-06-18' ? 'SHOULD' : 'MUST',
      clause: {
        page,
        heading: 'Operation',
        quote: `Both parties ${revision < '2025-06-18' ? 'SHOULD' : 'MUST'}: […] Only use capabilities that were successfully negotiated`,
      },
    }),
    needs:
      'a client that declares nothing, has sent a message after which this server sends requests, and then gets an answered ping',
    judge: ({ polite, requestTriggers }) => {
      const { offered } = polite;
      if (!offered) return untried;
      const demanding = polite.requests.find(({ message }) => {
        const capability = capabilityFor(message['method']);
        return capability !== undefined && !isJsonObject(offered[capability]);
      });
      if (demanding) {
        return broken(
          `The client declares ${formatValue(Object.keys(offered))}, but this arrived: ${formatValue(demanding.message)}`,
        );
      }
      const [ready] = polite.places('initialized');
      if (ready === undefined || Object.keys(offered).length > 0) return untried;
      const occasion = clientMessagesIn(polite).findLast(({ key }) => requestTriggers.has(key));
      if (occasion === undefined) return untried;
      return polite.waitedBetween(Math.max(ready, occasion.at), polite.happenings.length)
        ? held
        : untried;
    },
  },
  {
    id: 'rush',
    title: 'initialize, initialized and a request may arrive in one chunk.',
    demanded: always(
      'advice',
      page,
      'Initialization',
      'The client SHOULD NOT send requests other than pings before the server has responded to the initialize request.',
    ),
    needs: 'a handshake in one chunk',
    judge: ({ whole }) => firstBroken(whole.of('rush').map((asked) => answered(whole, asked))),
  },
  {
    id: 'early-request',
    title: 'A request before initialize is rejected.',
    demanded: always(
      'advice',
      page,
      'Initialization',
      'The initialization phase MUST be the first interaction between client and server.',
    ),
    needs: 'a request before initialize',
    judge: ({ whole }) =>
      firstBroken(
        whole.of('early').map((asked) => {
          const answer = whole.answersTo(asked.id)[0]?.message;
          if (whole.refusalOf(asked.id)) return held;
          if (!answer) return answered(whole, asked);
          return 'error' in answer
            ? held
            : broken(`tools/list was served before initialize: ${formatValue(answer)}`);
        }),
      ),
  },
  {
    id: 'ends',
    title: 'The server exits when its input ends.',
    demanded: always(
      'advice',
      page,
      'Shutdown, stdio',
      'the client SHOULD initiate shutdown by: 1. First, closing the input stream to the child process (the server) 2. Waiting for the server to exit, or sending SIGTERM if the server does not exit within a reasonable time',
    ),
    needs: 'the end of the input',
    judge: ({ whole }) => {
      const closed = whole.happenings.findIndex(({ kind }) => kind === 'input-ended');
      if (closed === -1) return untried;
      const later = whole.happenings.slice(closed);
      if (later.some(({ kind }) => kind === 'overdue')) {
        return silent('The server was still running after the time limit, and was killed');
      }
      return later.some(({ kind }) => kind === 'ended') ? held : untried;
    },
  },
  {
    id: 'ends-well',
    title: 'The server exits with code 0 when its input ends.',
    demanded: always(
      'advice',
      page,
      'Shutdown, stdio',
      'First, closing the input stream to the child process (the server)',
    ),
    needs: 'the end of the input',
    judge: ({ whole }) => {
      const { happenings } = whole;
      const closed = happenings.findIndex(({ kind }) => kind === 'input-ended');
      if (closed === -1 || happenings.some(({ kind }) => kind === 'overdue')) return untried;
      const end = happenings.slice(closed).find((one) => one.kind === 'ended');
      if (!end) return untried;
      return end.exit.code === 0 ? held : broken(`The server ended ${formatExit(end.exit)}`);
    },
  },
  {
    id: 'answers-before-end',
    title: 'Requests sent before the end of the input are answered.',
    demanded: always(
      'advice',
      'JSON-RPC 2.0',
      '5 Response object',
      'When a rpc call is made, the Server MUST reply with a Response, except for in the case of Notifications.',
    ),
    needs: 'a request other than a call immediately before the end of the input',
    judge: ({ whole }) => {
      const { happenings } = whole;
      const closed = happenings.findIndex(({ kind }) => kind === 'input-ended');
      if (closed === -1 || whole.settled || whole.earlyEnd || whole.polite !== whole)
        return untried;
      // A killed server may have been about to answer.
      if (happenings.some(({ kind }) => kind === 'overdue')) return untried;
      // A call may take long, and continuing without a client is up to the server.
      return firstBroken(
        [...whole.clientRequests.values()]
          .filter(({ method }) => method !== 'tools/call' && method !== 'subscriptions/listen')
          .map(({ id, method }) =>
            whole.answersTo(id).length > 0
              ? held
              : broken(`The server ended and left ${method} unanswered`),
          ),
      );
    },
  },
];

function capabilityFor(method: unknown): string | undefined {
  if (method === 'roots/list') return 'roots';
  if (method === 'sampling/createMessage') return 'sampling';
  return method === 'elicitation/create' ? 'elicitation' : undefined;
}

/** The client's last message before each request of the server: keys of {@link clientMessagesIn}. */
export function requestTriggers(trace: Trace): readonly string[] {
  const sent = clientMessagesIn(trace);
  const asked = trace.requests.filter(({ message }) => capabilityFor(message['method']));
  return asked.flatMap(({ at }) => sent.findLast((one) => one.at < at)?.key ?? []);
}

/** The client's requests and notifications except pings: method, plus the tool of a call. */
function clientMessagesIn(trace: Trace): readonly { readonly at: number; readonly key: string }[] {
  return [...trace.happenings.entries()].flatMap(([at, one]) =>
    one.kind !== 'sent'
      ? []
      : messagesIn(one.value).flatMap(({ method, params }) => {
          if (typeof method !== 'string' || method === Method.ping) return [];
          const tool =
            isJsonObject(params) && typeof params['name'] === 'string' ? params['name'] : '';
          return [{ at, key: method === 'tools/call' ? `${method} ${tool}` : method }];
        }),
  );
}
