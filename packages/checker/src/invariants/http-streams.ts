/** HTTP invariants on streams: messages per stream, end, and resumption. */
import { requestIdsIn, asks, isStream, isSuccess } from '../http/exchange.ts';
import type { ObservedExchange } from '../http/exchange.ts';
import { isJsonObject } from 'mcp-actors/internal';
import { idKey, isMessageId, messagesIn, parsed } from '../message.ts';
import type { Happening, Received, Trace } from '../trace.ts';
import { inEras } from './http.ts';
import { broken, firstBroken, held, formatValue, silent, untried } from './invariant.ts';
import type { Invariant, Judgement } from './invariant.ts';

const sending = 'Sending Messages to the Server';
const listening = 'Listening for Messages from the Server';
const resuming = 'Resumability and Redelivery';
const receiving = 'Receiving Messages';

/** Invariants of both eras. */
export const streamInvariants: readonly Invariant[] = [
  {
    id: 'http-own-stream',
    title: 'A request is answered on its own POST, or on the resumption of its stream.',
    demanded: inEras(
      'SHOULD',
      {
        heading: sending,
        quote:
          'The SSE stream SHOULD eventually include […] JSON-RPC response […] JSON-RPC request […] sent in the POST body.',
      },
      {
        heading: receiving,
        quote: 'The final JSON-RPC response SHOULD terminate the stream.',
      },
    ),
    needs: 'an answer',
    judge: ({ whole }) =>
      firstBroken(
        receivedIn(whole).map(({ message, via }) => {
          const { id } = message;
          if ('method' in message || !isMessageId(id) || !whole.clientRequests.has(idKey(id))) {
            return untried;
          }
          if (via.purpose !== 'message' && via.purpose !== 'resumption') return untried;
          return asks(originOf(via), id)
            ? held
            : broken(
                `On the stream of ${formatValue(requestIdsIn(originOf(via)))} came ${formatValue(message)}`,
              );
        }),
      ),
  },
  {
    id: 'http-progress-stream',
    title: 'Progress of a call arrives on the stream of that call.',
    demanded: (revision) =>
      inEras(
        revision >= '2026-07-28' ? 'MUST' : 'SHOULD',
        {
          heading: sending,
          quote: 'These messages SHOULD relate to the originating client request.',
        },
        {
          heading: receiving,
          quote: 'These notifications MUST relate to the originating client request.',
        },
      )(revision),
    needs: 'a tool that reports progress: name one with --call',
    judge: ({ whole }) =>
      firstBroken(
        whole.of('call', 'call-zero', 'retry').flatMap((asked) =>
          receivedIn(whole).map(({ message, via }): Judgement => {
            const { params } = message;
            const token = `progress-${idKey(asked.id)}`;
            if (!isJsonObject(params) || params['progressToken'] !== token) return untried;
            return asks(originOf(via), asked.id)
              ? held
              : broken(
                  `It arrived on the stream of ${formatValue(requestIdsIn(originOf(via)))}: ${formatValue(message)}`,
                );
          }),
        ),
      ),
  },
  {
    id: 'http-stream-ends',
    title: 'A stream ends after its answer.',
    demanded: inEras(
      'SHOULD',
      {
        heading: sending,
        quote: 'After […] been sent, the server SHOULD […] the SSE stream.',
      },
      { heading: receiving, quote: 'The final JSON-RPC response SHOULD terminate the stream.' },
    ),
    needs: 'an answer on a stream',
    judge: ({ whole }) =>
      firstBroken(
        whole.exchanges.filter(isAnswerStream).map((exchange) => {
          const left = requestIdsIn(exchange).filter((id) => !carriesAnswer(exchange, id));
          if (left.length > 0 || exchange.outcome === 'open') return untried;
          return exchange.outcome === 'closed'
            ? silent(
                `The stream of ${formatValue(exchange.sent)} stayed open until the end of the play`,
              )
            : held;
        }),
      ),
  },
];

/** Invariants of the era with sessions. */
export const sessionStreamInvariants: readonly Invariant[] = [
  {
    id: 'http-get-unanswering',
    title: 'No answer arrives on a GET stream.',
    demanded: inEras(
      'MUST',
      {
        heading: listening,
        quote:
          'The server MUST NOT send a JSON-RPC response on the stream unless resuming a stream associated with a previous client request.',
      },
      undefined,
    ),
    needs: 'a message on a GET stream',
    judge: ({ whole }) =>
      firstBroken(
        receivedIn(whole).map(({ message, via }) => {
          if (!isListening(via)) return untried;
          return 'method' in message ? held : broken(`This arrived: ${formatValue(message)}`);
        }),
      ),
  },
  {
    id: 'http-one-stream',
    title: 'A message is sent on one stream only.',
    demanded: inEras(
      'MUST',
      {
        heading: 'Multiple Connections',
        quote:
          'The server MUST send each of its JSON-RPC messages on only one of the connected streams; that is, it MUST NOT broadcast the same message across multiple streams.',
      },
      undefined,
    ),
    needs: 'a server with two GET streams at once that sends a message of its own',
    judge: ({ whole }) => {
      const second = whole.exchanges.some(
        (one) => one.purpose === 'second-stream' && isStream(one),
      );
      const told = whole.happenings.flatMap((one, at) =>
        one.kind === 'received' && one.via && isListening(one.via)
          ? [{ one, via: one.via, at }]
          : [],
      );
      if (!second || told.length === 0) return untried;
      for (const [index, { one, via, at }] of told.entries()) {
        const twin = told
          .slice(index + 1)
          .find((other) => other.one.text === one.text && originOf(other.via) !== originOf(via));
        if (!twin) continue;
        // Two changes may be announced by equal messages on different streams.
        const isAtOnce = !whole.happenings.slice(at, twin.at).some(({ kind }) => kind === 'sent');
        const isRequest = messagesIn(one.value).some((message) => 'id' in message);
        if (isRequest || isAtOnce)
          return broken(`It arrived on two streams: ${formatValue(one.value)}`);
      }
      return held;
    },
  },
  {
    id: 'http-event-ids',
    title: 'Event ids are unique within a session.',
    demanded: inEras(
      'MUST',
      {
        heading: resuming,
        quote: 'If present, the ID MUST be globally unique across all streams within that session',
      },
      undefined,
    ),
    needs: 'a server that assigns event ids',
    judge: ({ whole }) => {
      const seen = new Set<string>();
      for (const { events, resumes } of whole.exchanges) {
        // Replayed events repeat their ids.
        for (const { id } of resumes ? [] : events) {
          if (id === undefined) continue;
          if (seen.has(id)) return broken(`The id ${formatValue(id)} was repeated`);
          seen.add(id);
        }
      }
      return seen.size > 1 ? held : untried;
    },
  },
  {
    id: 'http-replay',
    title: 'A resumed stream replays nothing from another stream.',
    demanded: inEras(
      'MUST',
      {
        heading: resuming,
        quote:
          'The server MUST NOT replay messages that would have been delivered on a different stream.',
      },
      undefined,
    ),
    needs: 'a server that resumes streams, and events with ids on another stream',
    judge: ({ whole }) =>
      firstBroken(
        whole.exchanges
          .filter(({ resumes }) => resumes !== undefined)
          .map((exchange) => {
            if (!isSuccess(exchange.status)) return untried;
            const origin = originOf(exchange);
            const others = whole.exchanges.filter((one) => originOf(one) !== origin);
            const couldStray = others.some(({ events }) =>
              events.some(({ id, data }) => id !== undefined && data !== ''),
            );
            if (!couldStray) return untried;
            const stray = exchange.events.find(({ id, data }) =>
              others.some(({ events }) =>
                events.some((event) => id !== undefined && event.id === id && event.data === data),
              ),
            );
            return stray
              ? broken(`This had arrived on another stream: ${formatValue(stray)}`)
              : held;
          }),
      ),
  },
  {
    id: 'http-priming',
    title: 'A stream begins with an event that has an id but no data.',
    demanded: (revision) =>
      revision < '2025-11-25'
        ? undefined
        : inEras(
            'SHOULD',
            {
              heading: sending,
              quote:
                'The server SHOULD immediately send an SSE event consisting of an event ID and an empty data field in order to prime the client to reconnect',
            },
            undefined,
          )(revision),
    needs: 'a server that assigns event ids',
    judge: ({ whole }) =>
      firstBroken(
        whole.exchanges.filter(isAnswerStream).map(({ events }) => {
          const [first] = events;
          // Without ids, streams cannot be resumed, so priming is pointless.
          if (!first || events.every(({ id }) => id === undefined)) return untried;
          return first.id !== undefined && first.data === ''
            ? held
            : broken(`The first event is ${formatValue(first)}`);
        }),
      ),
  },
];

/** Messages received over HTTP with their exchange. */
function receivedIn(trace: Trace) {
  const isReceived = (one: Happening): one is Received => one.kind === 'received';
  return trace.happenings
    .filter(isReceived)
    .flatMap(({ value, via }) =>
      via ? messagesIn(value).map((message) => ({ message, via })) : [],
    );
}

function originOf(exchange: ObservedExchange): ObservedExchange {
  return exchange.resumes ?? exchange;
}

function isListening(exchange: ObservedExchange): boolean {
  const { purpose } = originOf(exchange);
  return purpose === 'stream' || purpose === 'second-stream';
}

/** True for the POST of a request answered with a stream. */
function isAnswerStream(exchange: ObservedExchange): boolean {
  return exchange.purpose === 'message' && isStream(exchange) && requestIdsIn(exchange).length > 0;
}

function carriesAnswer({ events }: ObservedExchange, id: string | number): boolean {
  return events.some(({ data }) =>
    messagesIn(parsed(data)).some((message) => !('method' in message) && message['id'] === id),
  );
}
