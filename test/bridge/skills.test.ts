/** A server of skills behind a bridge, before official clients of both eras. */
import { Client } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { memory, toSdkTransport } from 'mcp-actors';
import type { McpServer } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import { describe, expect, onTestFinished, test } from 'vitest';
import { server as shop } from '../../examples/skills/server.ts';

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

describe.each(crossed)(
  'a client of the $era era before a server of the $behind era',
  ({ era, behind }) => {
    test('has its skills, and verifies them', async () => {
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
  },
);

test.each(eras)(
  'of many servers, a client of the %s era is offered no skills, and can read each SKILL.md',
  async (era) => {
    const command = process.execPath;
    const args = ['--import', 'tsx', 'examples/skills/server.ts'];
    const many = bridge(
      { mcpServers: { shop: { command, args } } },
      { ...silent, patienceMs: 60_000 },
    );
    const client = await clientOf(era, many);
    expect(new SkillsClient(client).supported).toBe(false);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toContain('skill://close-the-month/SKILL.md');
    const { contents } = await client.readResource({ uri: 'skill://close-the-month/SKILL.md' });
    expect(contents[0]).toMatchObject({ mimeType: 'text/markdown' });
  },
);
