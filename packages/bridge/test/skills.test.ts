/** A server of skills behind a bridge, before official clients of both eras. */
import { Client } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { createMcpServer, defineSkill, memory, toSdkTransport } from 'mcp-actors';
import type { McpServer, Report } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import { describe, expect, onTestFinished, test } from 'vitest';
import { server as shop } from '../../../examples/skills/server.ts';
import { serveHttp } from '../../http/test/serving.ts';

const eras = ['legacy', 'modern'] as const;
const silent = { report: () => {} };

/** A client's end of a session. */
function end(server: McpServer) {
  const { transport, peer } = memory();
  server.listen(transport, silent);
  return toSdkTransport(peer);
}

async function clientOf(era: (typeof eras)[number], server: McpServer): Promise<Client> {
  const mode = era === 'legacy' ? 'legacy' : 'auto';
  const client = new Client({ name: 'host', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(end(server) as never);
  onTestFinished(() => client.close());
  return client;
}

const crossed = eras.flatMap((era) => eras.map((behind) => ({ era, behind })));

describe.each(crossed)('skills of a $behind server for a $era client', ({ era, behind }) => {
  test("lists the server's skills, and verifies them", async () => {
    const bridged = bridge({ transport: end(shop) }, { ...silent, era: behind });
    const skills = new SkillsClient(await clientOf(era, bridged));
    const { skills: entries } = await skills.list();
    expect(entries.map(({ uri }) => uri)).toEqual([
      'skill://acme/billing/refunds/SKILL.md',
      'skill://close-the-month/SKILL.md',
    ]);
    const [refunds, month] = entries as [(typeof entries)[0], (typeof entries)[0]];
    expect((await skills.get(refunds.uri)).skill).toEqual(refunds);
    expect(await skills.read(refunds, 'letters/asking.md')).toMatchObject({ verified: true });
    expect(await skills.read(month)).toMatchObject({ verified: true });
    const { resources } = await skills.readDirectory('skill://close-the-month');
    expect(resources.map(({ name }) => name)).toEqual(['close-the-month', 'templates']);
  });
});

describe.each(eras)('skills of many servers for a %s client', (era) => {
  const hours = createMcpServer({
    name: 'hours',
    version: '1',
    skills: [
      defineSkill({
        name: 'tell-the-hours',
        description: 'Says when the shop is open.',
        instructions: 'Read hours/week.md.',
        files: { 'hours/week.md': 'From nine to five.' },
      }),
    ],
  });
  const none = createMcpServer({ name: 'none', version: '1', tools: [] });
  const serversAt = async (servers: { readonly [name: string]: McpServer }) =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(servers).map(async ([name, { definition }]) => {
          const { href } = await serveHttp(createMcpServer(definition));
          return [name, { url: href, era: name === 'hours' ? 'legacy' : 'modern' }] as const;
        }),
      ),
    );
  const before = async (
    servers: { readonly [name: string]: McpServer },
    report: Report = silent.report,
  ) => {
    const many = bridge({ mcpServers: await serversAt(servers) }, { report, patienceMs: 60_000 });
    onTestFinished(() => many.close());
    return new SkillsClient(await clientOf(era, many));
  };

  test('lists all skills, and reads each from its server', async () => {
    const told: string[] = [];
    const skills = await before({ none, shop, hours, copy: shop }, ({ message }) =>
      told.push(message),
    );
    const { skills: entries } = await skills.list();
    expect(entries.map(({ uri }) => uri)).toEqual([
      'skill://acme/billing/refunds/SKILL.md',
      'skill://close-the-month/SKILL.md',
      'skill://tell-the-hours/SKILL.md',
    ]);
    expect(told.filter((message) => message.startsWith('Two skills'))).toEqual([
      expect.stringContaining('skill://acme/billing/refunds/SKILL.md'),
      expect.stringContaining('skill://close-the-month/SKILL.md'),
    ]);
    for (const entry of entries) {
      expect((await skills.get(entry.uri)).skill).toEqual(entry);
      expect(await skills.read(entry)).toMatchObject({ verified: true });
    }
    const [refunds, , week] = entries;
    expect(await skills.read(refunds!, 'letters/asking.md')).toMatchObject({ verified: true });
    expect(await skills.read(week!, 'hours/week.md')).toMatchObject({ verified: true });
    const { resources } = await skills.readDirectory('skill://tell-the-hours/hours');
    expect(resources.map(({ name }) => name)).toEqual(['week.md']);
  });

  test('finds an unlisted skill, and no file that no server has', async () => {
    const skills = await before({ none, shop, hours });
    const { skill } = await skills.get('skill://tell-the-hours/SKILL.md');
    expect(await skills.read(skill, 'hours/week.md')).toMatchObject({ verified: true });
    await expect(skills.get('skill://no-such/SKILL.md')).rejects.toThrow('no-such');
    await expect(skills.readDirectory('skill://tell-the-hours-too')).rejects.toThrow('too');
  });

  test('offers none if no server has any', async () => {
    expect((await before({ none })).supported).toBe(false);
  });
});
