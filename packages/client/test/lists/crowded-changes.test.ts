/** A list that changes again and again, before a server of the official SDK. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { flush } from '../../../testing/src/index.ts';
import { beforeSdk } from './list-hosts.ts';

const toolsOf = (name: string) => ({ tools: [{ name, inputSchema: { type: 'object' } }] });

describe('a change', () => {
  test('that follows another without end is asked for at a growing distance, and the last at last', async () => {
    let version = 0;
    let until = Infinity;
    const { lists, clock, sent, server } = await beforeSdk(async () => {
      const now = version;
      if (version < until) {
        version++;
        await server.notification({ method: 'notifications/tools/list_changed' });
      }
      return toolsOf(`version ${now}`);
    });
    onTestFinished(lists.tools.watch(() => {}));
    await expect.poll(() => sent).toHaveLength(2);
    for (const [count, distanceMs] of [100, 200, 400, 800, 1000, 1000].entries()) {
      // The answer is there once the next query waits for its turn.
      await expect.poll(() => clock.liveTimers).toBe(1);
      clock.increment(distanceMs - 1);
      await flush();
      expect(sent).toHaveLength(2 + count);
      until = count === 5 ? version + 1 : until;
      clock.increment(1);
      await expect.poll(() => sent).toHaveLength(3 + count);
    }
    await expect.poll(() => clock.liveTimers).toBe(1);
    clock.increment(1000);
    await expect.poll(() => lists.tools.report.state).toBe('known');
    expect(lists.tools.report.items).toEqual(toolsOf(`version ${until}`).tools);
  });

  test('that follows another does not keep a host from asking anew', async () => {
    const { lists, sent, wait } = await beforeSdk(() => toolsOf('a'));
    for (let i = 0; i < 5; i++) await lists.tools.items({ ...wait, refresh: true });
    expect(sent).toHaveLength(5);
  });
});
