/** What every connection does, crossed with the era and the way to the server, and with whose server it is. */
import { connect } from 'mcp-actors/client';
import type { ConnectOptions, Connection } from 'mcp-actors/client';
import { filter, firstValueFrom } from 'rxjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ways } from './contract-ways.ts';
import type { Way } from './contract-ways.ts';

/** What each of them has to end. */
const open: (() => Promise<unknown>)[] = [];
const atEnd = (end: () => Promise<unknown>) => void open.unshift(end);
afterAll(async () => {
  for (const end of open.splice(0)) await end();
});

/** A connection, until all tests are over. */
async function connected({ entry }: Way, options: ConnectOptions = {}): Promise<Connection> {
  const connection = await connect(await entry(atEnd), { report: () => {}, ...options });
  atEnd(() => connection.close());
  return connection;
}

describe.each(ways)('a connection of the $era era to $server over $transport', (way) => {
  let connection: Connection;
  const asked: unknown[] = [];

  beforeAll(async () => {
    connection = await connected(way, {
      era: way.era,
      elicit: (question) => {
        asked.push(question.message);
        return { action: 'accept', content: { name: 'Ada' } };
      },
    });
  });

  /** A call of `wait` that the server has begun. */
  const begun = async (options: { readonly signal?: AbortSignal }) => {
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    const result = connection.callTool('wait', {}, { ...options, onProgress: () => arrive() });
    result.catch(() => {});
    await arrived;
    return { result };
  };

  test('lists the tools', async () => {
    const tools = await connection.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual(['ask', 'echo', 'grow', 'steps', 'wait']);
  });

  test('gives each of many calls its own answer', async () => {
    const texts = Array.from({ length: 50 }, (__, at) => `text ${at}`);
    const results = await Promise.all(texts.map((text) => connection.callTool('echo', { text })));
    expect(results.map(({ content }) => content[0])).toMatchObject(
      texts.map((text) => ({ type: 'text', text })),
    );
    expect(connection.pending).toBe(0);
  });

  test('hears of progress, before the answer', async () => {
    const heard: number[] = [];
    await connection.callTool('steps', {}, { onProgress: ({ progress }) => heard.push(progress) });
    // A server of ours leaves out what is overtaken in the same moment.
    expect([heard[0], heard.at(-1)]).toEqual([1, 3]);
  });

  test('answers what the server asks in a call', async () => {
    expect(await connection.callTool('ask')).toMatchObject({ content: [{ text: 'It is Ada' }] });
    expect(asked).toEqual(['Who is it?']);
  });

  test('has a list anew that has changed', async () => {
    const names = connection.tools$.pipe(filter(({ state }) => state === 'known'));
    const grown = filter<{ readonly items: readonly { readonly name: string }[] }>(({ items }) =>
      items.some(({ name }) => name === 'grown'),
    );
    const changed = firstValueFrom(names.pipe(grown));
    await connection.listTools();
    await connection.callTool('grow');
    expect((await changed).items).toHaveLength(6);
    expect(await connection.listTools()).toHaveLength(6);
  });

  test('cancels a call that runs', async () => {
    const controller = new AbortController();
    const { result } = await begun({ signal: controller.signal });
    controller.abort('enough');
    await expect(result).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
    expect(connection.pending).toBe(0);
    await expect(connection.callTool('echo', { text: 'still there' })).resolves.toMatchObject({
      content: [{ text: 'still there' }],
    });
  });

  test('gives up a call in time', async () => {
    const late = connection.callTool('wait', {}, { timeoutMs: 50, maxTotalMs: 50 });
    await expect(late).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  });

  test('ends what is pending when it is closed', async () => {
    const { result } = await begun({});
    await connection.close();
    await expect(result).rejects.toMatchObject({ code: 'CLOSED' });
    expect(connection.state.value).toBe('closed');
  });
});

const modernOnly = ways.filter(({ server }) => server.includes('modern only'));

test.each(modernOnly)('$server over $transport is found to be modern', async (way) => {
  const { server, launches } = await connected(way);
  expect(server).toMatchObject({ era: 'modern', revision: '2026-07-28' });
  expect(launches).toBe(1);
});

test.each(modernOnly)('$server over $transport refuses a host that is legacy only', async (way) => {
  const legacy = connected(way, { era: 'legacy', restart: 'none' });
  await expect(legacy).rejects.toMatchObject({ code: 'VERSION_UNSUPPORTED' });
});
