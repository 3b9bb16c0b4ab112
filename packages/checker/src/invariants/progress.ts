/** Invariants on progress notifications. */
import type { JsonObject } from 'mcp-actors';
import { Method, isJsonObject } from 'mcp-actors/internal';
import { idKey } from '../message.ts';
import type { TracedRequest, Trace } from '../trace.ts';
import { always, broken, firstBroken, held, formatValue, untried } from './invariant.ts';
import type { Invariant } from './invariant.ts';

const page = 'basic/utilities/progress';
const needs = 'a tool that reports progress: name one with --call';

interface Progress {
  readonly message: JsonObject;
  readonly at: number;
  readonly value: unknown;
  /** The request that the token belongs to. */
  readonly asked: TracedRequest | undefined;
}

export const progressInvariants: readonly Invariant[] = [
  {
    id: 'progress-token',
    title: 'Progress has the token of a request.',
    demanded: always(
      'MUST',
      page,
      'Behavior Requirements',
      'Progress notifications MUST only reference tokens that: Were provided in an active request',
    ),
    needs,
    judge: ({ polite }) =>
      firstBroken(
        progressIn(polite).map(({ asked, at, message }) =>
          asked && asked.at < at
            ? held
            : broken(`No request has this token: ${formatValue(message)}`),
        ),
      ),
  },
  {
    id: 'progress-increases',
    title: 'Progress increases with each notification.',
    demanded: always(
      'MUST',
      page,
      'Progress Flow',
      'The progress value MUST increase with each notification, even if the total is unknown.',
    ),
    needs: 'a tool that reports progress at least twice: name one with --call',
    judge: ({ polite }) => {
      const last = new Map<TracedRequest, number>();
      return firstBroken(
        progressIn(polite).map(({ asked, value, message }) => {
          if (typeof value !== 'number')
            return broken(`The progress is not a number: ${formatValue(message)}`);
          const before = asked && last.get(asked);
          if (asked) last.set(asked, value);
          if (before === undefined) return untried;
          return value > before ? held : broken(`It was ${before} before: ${formatValue(message)}`);
        }),
      );
    },
  },
  {
    id: 'progress-stops',
    title: 'No progress arrives after the answer.',
    demanded: always(
      'MUST',
      page,
      'Implementation Notes',
      'Progress notifications MUST stop after completion',
    ),
    needs,
    judge: ({ polite }) =>
      firstBroken(
        progressIn(polite).map(({ asked, at, message }) => {
          const answer = asked && polite.answersTo(asked.id)[0];
          if (!answer) return untried;
          return at < answer.at
            ? held
            : broken(
                `This arrived after the answer to ${idKey(asked.id)}: ${formatValue(message)}`,
              );
        }),
      ),
  },
];

function progressIn(trace: Trace): readonly Progress[] {
  const byToken = new Map<string, TracedRequest>();
  for (const asked of trace.clientRequests.values()) {
    const meta = asked.params['_meta'];
    if (isJsonObject(meta)) byToken.set(idKey(meta['progressToken']), asked);
  }
  return trace.notifications(Method.progress).map(({ message, at }) => {
    const params = isJsonObject(message['params']) ? message['params'] : {};
    const asked = byToken.get(idKey(params['progressToken']));
    return { message, at, value: params['progress'], asked };
  });
}
