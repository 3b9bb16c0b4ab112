/**
 * One request to the client and its response, with growing numbers of others pending, which must
 * not affect the cost.
 */
import { createActor } from 'xstate';
import { systemClock } from '../../../src/actors/clock.ts';
import { correlationActor } from '../../../src/actors/correlation/correlation.actor.ts';
import { RequestIds } from '../../../src/actors/correlation/correlation.actor.ts';
import { plainActor } from '../../../src/machines/port.ts';
import type { WriterEvent } from '../../../src/machines/peer-ports.ts';
import type { OutboundRequestId } from '../../../src/protocol/frames.ts';
import type { MicroCase } from './micro-case.ts';

const minute = 60_000;

export const correlationCases: readonly MicroCase[] = [10, 1_000, 100_000].map(caseOf);

/** Always answers the oldest pending request, whose age depends on the number of others. */
function caseOf(pending: number): MicroCase {
  const sent: OutboundRequestId[] = [];
  const writer = createActor(
    plainActor<WriterEvent, undefined>(() => ({
      receive: (event) => {
        if (event.type !== 'frames.send') return;
        for (const frame of event.frames) {
          if ('method' in frame && 'id' in frame) sent.push(frame.id);
        }
      },
    })),
    { input: undefined },
  ).start();
  const correlation = createActor(
    correlationActor(() => ({
      limits: { maxPending: pending + 1 },
      clock: systemClock,
      report: Object.assign(() => {}, { threshold: 'warning' as const }),
      requestIds: new RequestIds(),
      peer: 'client',
    })),
    { input: { writer } },
  ).start();
  correlation.send({ type: 'gate.opened' });

  let settled = 0;
  const ask = () =>
    correlation.send({
      type: 'requests.send',
      requests: [
        {
          method: 'roots/list',
          timeoutMs: minute,
          maxTotalMs: 10 * minute,
          settle: () => {
            settled++;
          },
        },
      ],
    });
  for (let asked = 0; asked < pending; asked++) ask();
  let answered = 0;
  const answer = () => {
    const id = sent[answered++];
    if (id === undefined) throw new Error('nothing is pending');
    correlation.send({
      type: 'responses.received',
      responses: [{ kind: 'response', id, outcome: { ok: true, result: { roots: [] } } }],
    });
    // Drop finished ids now and then.
    if (answered > 1_000_000) {
      sent.splice(0, answered);
      answered = 0;
    }
  };

  return {
    name: `correlation: a request and its answer, ${pending} pending`,
    messages: 1,
    run: () => {
      ask();
      answer();
      return settled;
    },
  };
}
