/** A page's stream of updates, read as a browser would. */
import { createMcpServer } from 'mcp-actors';
import { inspectPage } from '@mcp-actors/inspector';
import { scriptedConversation } from 'mcp-actors/testing';
import { expect, onTestFinished, test } from 'vitest';
import type { PageUpdate } from '../src/page-messages.ts';

async function watched() {
  const page = await inspectPage();
  onTestFinished(() => page.close());
  const server = createMcpServer({ name: 'watched', version: '1' });
  const join = async () => {
    const { session, peer } = scriptedConversation(server, { watchers: [page.watcher] });
    await peer.handshake();
    return session;
  };
  /** Reads until the server ends the stream. */
  const read = async () => {
    const response = await fetch(new URL('updates', page.url));
    return async () => {
      const text = await response.text();
      const updates = [...text.matchAll(/^data: (\{.*)$/gm)].map(
        ([, data = '']) => JSON.parse(data) as PageUpdate,
      );
      return { text, updates };
    };
  };
  return { page, join, read };
}

test('update stream delivers the last events before it ends', async () => {
  const { page, join, read } = await watched();
  const session = await join();
  const rest = await read();
  session.shutdown('it leaves');
  await session.closed;
  await page.close();
  const { text, updates } = await rest();
  expect(text.endsWith('event: end\ndata: \n\n')).toBe(true);
  const [last] = updates.at(-1)?.sessions ?? [];
  expect(last).toMatchObject({ closed: 'it leaves', dump: { state: 'closed' } });
  const states = updates.flatMap(({ sessions }) =>
    sessions.flatMap(({ events }) =>
      events.flatMap((event) => (event.kind === 'transition' ? [event.to] : [])),
    ),
  );
  expect(states.at(-1)).toBe('closed');
});

test('update stream reports every end, even of sessions no longer kept for new viewers', async () => {
  const { page, join, read } = await watched();
  const sessions = [];
  for (let count = 0; count < 12; count++) sessions.push(await join());
  const rest = await read();
  for (const session of sessions) session.shutdown('it leaves');
  await Promise.all(sessions.map((session) => session.closed));
  await page.close();
  const { updates } = await rest();
  const ended = updates.flatMap((update) => update.sessions.filter(({ closed }) => closed));
  expect(new Set(ended.map(({ id }) => id)).size).toBe(12);

  const second = await watched();
  for (let count = 0; count < 12; count++) {
    const session = await second.join();
    session.shutdown('it leaves');
    await session.closed;
  }
  const later = await second.read();
  await second.page.close();
  const [present] = (await later()).updates;
  expect(present?.sessions.length).toBe(8);
});
