import { describe, expect, test } from 'vitest';
import { allowForgetting, server } from '../../examples/notes/notes.ts';
import { connect } from '../contract/serving.ts';

describe('the notes example', () => {
  test('lists, completes, reads and writes notes, and notifies subscribers [RES-03] [RES-08]', async () => {
    const { peer, clock } = connect(server);
    await peer.handshake();
    expect(await peer.ask('resources/list')).toHaveProperty('resources.length', 4);
    const completion = await peer.ask('completion/complete', {
      ref: { type: 'ref/resource', uri: 'notes://{user}/{+path}' },
      argument: { name: 'path', value: '2025/' },
      context: { arguments: { user: 'ann' } },
    });
    expect(completion).toHaveProperty('completion.values', ['2025/plan', '2025/report']);

    const uri = 'notes://ann/2025/plan';
    await peer.ask('resources/subscribe', { uri });
    await peer.call('write_note', { user: 'ann', path: '2025/plan', text: 'Done' });
    expect((await peer.notification('notifications/resources/updated')).params).toEqual({ uri });
    expect(await peer.ask('resources/read', { uri })).toHaveProperty('contents.0.text', 'Done');
    await expect(peer.ask('resources/read', { uri: 'notes://ann/no' })).rejects.toMatchObject({
      error: { code: -32002 },
    });

    await peer.call('write_note', { user: 'cay', path: 'first', text: 'Hello' });
    clock.increment(1000);
    await peer.notification('notifications/resources/list_changed');
    expect(await peer.ask('resources/list')).toHaveProperty('resources.length', 5);
  });

  test('summarizes notes [PROMPT-03]', async () => {
    const { peer } = connect(server);
    await peer.handshake();
    const args = { user: 'bob', length: '3' };
    const { messages } = await peer.ask('prompts/get', { name: 'summary', arguments: args });
    expect(messages).toHaveLength(2);
    expect(messages).toHaveProperty('1.content.resource.uri', 'notes://bob/ideas');
  });

  test('deletes notes where enabled [LIST-01]', async () => {
    const { peer, clock } = connect(server);
    await peer.handshake();
    await expect(peer.call('forget_all')).rejects.toMatchObject({ error: { code: -32602 } });
    allowForgetting(true);
    clock.increment(1000);
    await peer.notification('notifications/tools/list_changed');
    await peer.call('forget_all');
    expect(await peer.ask('resources/list')).toHaveProperty('resources.length', 1);
    allowForgetting(false);
  });
});
