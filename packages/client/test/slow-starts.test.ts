/** Servers that start more slowly than a probe is waited for, and servers that a probe breaks. */
import { connect } from 'mcp-actors/client';
import type { ConnectOptions } from 'mcp-actors/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { program } from '../../../test/tooling/programs.ts';

/** No process starts so quickly: `initialize` is always sent behind the probe. */
const impatient: ConnectOptions = { limits: { probeMs: 1 }, report: () => {}, restart: 'none' };

const ofContract = (whose: string) => ({
  command: process.execPath,
  args: [...program('packages/client/test/contract-process.ts'), whose],
});

/** A server of a script, which has `answer(id, result)`, `refuse(id)`, and gets each message. */
const scripted = (script: string) => ({
  command: process.execPath,
  args: [
    '-e',
    `const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
    const answer = (id, result) => send({ id, result });
    const refuse = (id, message = 'No') => send({ id, error: { code: -32603, message } });
    const greeting = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } };
    const discovery = { supportedVersions: ['2026-07-28'], capabilities: {}, resultType: 'complete' };
    const asked = [];
    require('node:readline').createInterface(process.stdin).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      asked.push(method);
      if (method === 'x/asked') return answer(id, { asked });
      ${script}
    });`,
  ],
});

async function connected(entry: Parameters<typeof connect>[0], options: ConnectOptions = {}) {
  const connection = await connect(entry, { ...impatient, ...options });
  onTestFinished(() => connection.close());
  return connection;
}

describe('a server that starts slowly', () => {
  test.each(['ours', 'official 2', 'official 2, modern only'])(
    'is modern all the same, and is asked as such: %s [HOST-11]',
    async (whose) => {
      const connection = await connected(ofContract(whose));
      expect(connection.server).toMatchObject({ era: 'modern', revision: '2026-07-28' });
      // One that had been taken for legacy by its server would get results without a type.
      const result = await connection.request('tools/list');
      expect(result).toMatchObject({ resultType: 'complete' });
      expect(connection.launches).toBe(1);
    },
  );

  test('is legacy if it is', async () => {
    const connection = await connected(ofContract('official 1'));
    expect(connection.server).toMatchObject({ era: 'legacy', revision: '2025-11-25' });
    expect(await connection.listTools()).not.toEqual([]);
    expect(connection.launches).toBe(1);
  });

  test('that says too late that it is modern is modern from its next launch on', async () => {
    const entry = scripted(`
      const tell = () => { answer(globalThis.late, discovery); globalThis.late = undefined; };
      if (method === 'server/discover') {
        globalThis.late = id;
        setTimeout(() => globalThis.late === undefined || tell(), 200);
      }
      else if (method === 'initialize') answer(id, greeting);
      else if (method === 'notifications/initialized') tell();
    `);
    const connection = await connected(entry);
    expect(connection.server?.era).toBe('legacy');
    // Answered behind it: by now it is known.
    await connection.request('x/asked');
    expect(await connection.reconnect()).toMatchObject({ era: 'modern' });
    const { asked } = await connection.request('x/asked');
    expect(asked).toEqual(['server/discover', 'x/asked']);
    // So it is for another connection to the same command.
    const other = await connected(entry);
    expect(other.server?.era).toBe('modern');
  });
});

describe('a server that refuses to be greeted after a probe', () => {
  const afterProbe: readonly (readonly [string, string])[] = [
    ['it has refused', "refuse(id, 'Method not found')"],
    ['it has not answered', ''],
  ];

  test.each(afterProbe)('is launched anew without one, if %s', async (_, onProbe) => {
    const entry = scripted(`
      if (method === 'server/discover') { ${onProbe} }
      else if (method === 'initialize') {
        if (asked.length > 1) refuse(id, 'already started'); else answer(id, greeting);
      }
    `);
    const connection = await connected(entry);
    expect(connection.server?.era).toBe('legacy');
    expect(connection.launches).toBe(2);
    expect(connection.state).toMatchObject({ value: 'ready', attempt: 0 });
    // What was found out is remembered.
    expect((await connected(entry)).launches).toBe(1);
  });

  test('is launched anew once, and its own words are the error', async () => {
    const entry = scripted(`if (id !== undefined) refuse(id, 'never')`);
    const failed = connect(entry, { ...impatient, limits: { probeMs: 50 } });
    await expect(failed).rejects.toMatchObject({
      code: 'PROTOCOL_VIOLATION',
      message: expect.stringContaining('never'),
    });
  });
});
