/**
 * Plays a transcript written by hand: what a client sends, and what it must be answered, in this
 * order and nothing else. Of a frame, only the given members are compared.
 */
import { setImmediate } from 'node:timers/promises';
import type { McpServer } from '../../server/create-server.ts';
import { memory } from '../../transports/memory.ts';
import { RecordingError } from '../recording.ts';
import type { NumberedLine, Recording } from '../recording.ts';
import { includesJson } from './difference.ts';
import type { Difference } from './difference.ts';
import { RequestNames, UnclaimedOutputs, compareEnd } from './live-output.ts';
import type { Playback } from './playback.ts';

/** Gives the first difference, or undefined. */
export async function replayTranscript(
  { name, lines }: Recording,
  server: McpServer,
  playback: Playback,
): Promise<Difference | undefined> {
  const { transport, peer } = playback.connection ?? memory();
  const frames = new UnclaimedOutputs<object>(playback.patienceMs);
  peer.received$.subscribe((frame) => frames.add(frame as object));
  const session = server.listen(transport, playback.liveSession);
  const names = new RequestNames((id) => typeof id === 'string' && id.startsWith('$'));

  const compareFrame = async ({ number }: NumberedLine, expected: unknown) => {
    const found = await frames.claim();
    if (found === undefined) {
      const recorded = { server: names.fill(expected) };
      return { problem: 'the session does not send this', number, recorded };
    }
    const filled = names.bind(expected, found);
    if (includesJson(found, filled)) return undefined;
    const problem = 'the session sends something else';
    return { problem, number, recorded: { server: filled }, replayed: { server: found } };
  };
  const play = async (each: NumberedLine): Promise<Difference | undefined> => {
    const { number, line } = each;
    if ('server' in line) return compareFrame(each, line.server);
    if ('closed' in line) return compareEnd(session, { number, line }, playback.patienceMs);
    await playback.before(each);
    playback.given(each);
    if ('client' in line) {
      const messages = line.client.map((message) => `${JSON.stringify(names.fill(message))}\n`);
      peer.sendRaw(messages.join(''));
    } else if ('raw' in line) peer.sendRaw(line.raw);
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
      if ('server' in each.line || 'closed' in each.line) playback.matched(each);
      await setImmediate();
    }
    const { oldest } = frames;
    if (!oldest) return undefined;
    const number = lines.at(-1)?.number ?? 1;
    return {
      problem: 'the session sends more than the transcript has',
      number,
      replayed: { server: oldest },
    };
  } finally {
    // No drain: nobody needs what a handler still does.
    session.actor.stop();
  }
}
