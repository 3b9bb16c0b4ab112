/**
 * Plays a transcript that a person has written: what a client sends and what it must be answered, in this order and nothing else. Of a frame only the
 * members that are given are compared.
 */
import { setImmediate } from 'node:timers/promises';
import type { McpServer } from '../../server/create-server.ts';
import { memory } from '../../transports/memory.ts';
import { Arrivals } from './arrivals.ts';
import { includesJson } from './difference.ts';
import type { Difference } from './difference.ts';
import { endedWithin } from './ended.ts';
import { IdNames } from './id-names.ts';
import type { Playing } from './playing.ts';
import type { NumberedLine, Recording } from '../recording.ts';
import { RecordingError } from '../recording.ts';

/** The first difference, or undefined. */
export async function playTranscript(
  { name, lines }: Recording,
  server: McpServer,
  playing: Playing,
): Promise<Difference | undefined> {
  const { transport, peer } = playing.connection ?? memory();
  const arrivals = new Arrivals<object>(playing.patienceMs);
  peer.received$.subscribe((frame) => arrivals.add(frame as object));
  const { watchers, report } = playing;
  const session = server.listen(transport, {
    ...(watchers ? { watchers } : {}),
    ...(report ? { report } : {}),
  });
  const names = new IdNames((id) => typeof id === 'string' && id.startsWith('$'));

  const expectFrame = async (each: NumberedLine, expected: unknown) => {
    const { number } = each;
    const found = await arrivals.take(() => true);
    if (found === undefined) {
      const recorded = { server: names.fill(expected) };
      return { problem: 'the session does not send this', number, recorded };
    }
    const filled = names.expect(expected, found);
    if (includesJson(found, filled)) return undefined;
    const problem = 'the session sends something else';
    return { problem, number, recorded: { server: filled }, replayed: { server: found } };
  };
  const expectEnd = async ({ number }: NumberedLine, closed: string) => {
    const cause = await endedWithin(session, playing.patienceMs);
    if (cause?.kind === closed) return undefined;
    const recorded = { closed };
    if (!cause) return { problem: 'the session does not end', number, recorded };
    const problem = 'the session ends for another cause';
    return { problem, number, recorded, replayed: { closed: cause.kind } };
  };
  const play = async (each: NumberedLine): Promise<Difference | undefined> => {
    const { number, line } = each;
    if ('server' in line) return expectFrame(each, line.server);
    if ('closed' in line) return expectEnd(each, line.closed);
    await playing.before(each);
    playing.given(each);
    if ('client' in line)
      peer.sendRaw(
        line.client.map((message) => `${JSON.stringify(names.fill(message))}\n`).join(''),
      );
    else if ('raw' in line) peer.sendRaw(line.raw);
    else if ('end' in line) peer.end();
    else if ('shutdown' in line) session.shutdown(line.shutdown);
    else {
      throw new RecordingError(
        `${name}:${number}: a transcript without a header has lines with client, raw, server, end, shutdown and closed`,
      );
    }
    return undefined;
  };

  try {
    for (const each of lines) {
      const difference = await play(each);
      if (difference) return difference;
      if ('server' in each.line || 'closed' in each.line) playing.matched(each);
      await setImmediate();
    }
    const { first } = arrivals;
    if (!first) return undefined;
    const number = lines.at(-1)?.number ?? 1;
    return {
      problem: 'the session sends more than the transcript has',
      number,
      replayed: { server: first },
    };
  } finally {
    // No drain: what a handler still does is nobody's concern.
    session.actor.stop();
  }
}
