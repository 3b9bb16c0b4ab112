/** A client without a channel of its own, before anything has needed its roots. */
import { toolCall } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { withoutChannel } from './channel-wire.ts';
import { everywhere, memoryAndHttp } from './everywhere.ts';
import { clientWithoutChannel, list, operateRoots, wait } from './roots-serving.ts';
import { textOf } from './serving.ts';

// Over HTTP nobody stops reading: each stream is read by itself.
describe('a client that reads again', () => {
  test('is asked with a call that the session itself lets begin, where it has no channel of its own', async () => {
    const connection = withoutChannel();
    const { peer } = await operateRoots({ connection });
    connection.flow('blocked');
    peer.send(toolCall('a', wait.name));
    await peer.quiet();
    connection.flow('flowing');
    peer.answer(await peer.request('roots/list'), list('x'));
    expect(textOf((await peer.response('a')).result)).toContain('file:///x');
    expect(connection.relatedTo('roots/list')).toEqual(['a']);
  });
});

everywhere('a client without a channel of its own', memoryAndHttp, () => {
  test('has its roots told as deferred before any call has needed them', async () => {
    const { session } = await operateRoots(clientWithoutChannel().options);
    expect(session.dump().roots).toMatchObject({ state: 'deferred', tags: ['deferred'] });
    expect(Object.keys(session.dump().actors)).not.toContain('roots');
  });
});
