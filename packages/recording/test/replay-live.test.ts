import { createMcpServer } from 'mcp-actors';
import { differenceText, replay } from 'mcp-actors/recording';
import { flush } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { tool } from '../../../test/contract/serving.ts';
import { askName, expectSame, recordedSession, roots } from './recorded-session.ts';

const named = { name: 'recorded', version: '1.0.0' };
const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: {} };

describe('a replay with live handlers', () => {
  const server = (greeting: string) =>
    createMcpServer({
      ...named,
      tools: [
        tool('greet', async (_, context) => {
          await flush();
          return `${greeting} ${await askName({}, context)}`;
        }),
        roots,
      ],
    });

  async function greeted() {
    const { peer, finish } = recordedSession(server('Hello'));
    await peer.handshake({ capabilities });
    peer.answer(await peer.request('roots/list'), { roots: [{ uri: 'file:///a' }] });
    const [one, two] = [peer.call('greet'), peer.call('roots')];
    const question = await peer.request('elicitation/create');
    peer.answer(question, { action: 'accept', content: { name: 'Ada' } });
    await Promise.all([one, two]);
    return finish();
  }

  test('reports no difference if they return the recorded results', async () => {
    await expectSame(await greeted(), { server: server('Hello') });
  });

  test('reports another result as the difference', async () => {
    const recording = await greeted();
    const { difference } = await replay(recording, { server: server('Bye'), patienceMs: 50 });
    expect(difference && differenceText(difference, recording)).toMatch(/^\+ +\{"server":.*Bye/m);
  });

  test("reports a hanging handler's missing output", async () => {
    const recording = await greeted();
    const hanging = createMcpServer({
      ...named,
      tools: [tool('greet', () => new Promise(() => {})), roots],
    });
    const { difference } = await replay(recording, { server: hanging, patienceMs: 50 });
    expect(difference).toMatchObject({ problem: 'the replay does not send this' });
  });
});
