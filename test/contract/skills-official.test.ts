/** Skills between our implementation and the official SDK, in both directions and eras. */
import { Client } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server';
import { memorySkillFiles, SkillsExtension } from '@modelcontextprotocol/server/ext/skills';
import { createMcpServer, defineSkill, memory, toSdkTransport } from 'mcp-actors';
import { connect } from 'mcp-actors/client';
import { describe, expect, onTestFinished, test } from 'vitest';

const silent = { report: () => {} };
const eras = ['legacy', 'modern'] as const;

const forms = defineSkill({
  name: 'pdf-processing',
  directory: 'acme/office',
  description: 'Fills in: "forms" # of all kinds',
  frontmatter: {
    license: 'MIT',
    compatibility: 'Any host',
    metadata: { author: 'Ü', version: '1.0' },
    'allowed-tools': 'Read Write',
  },
  instructions: '# Forms\n',
  files: { 'references/eu form.md': 'Ü €\n', 'seal.png': new Uint8Array([0x89, 0xff, 0]) },
});
const now = defineSkill({
  name: 'now',
  description: 'Made when it is read',
  instructions: 'Read time.txt',
  files: { 'time.txt': () => 'now' },
});

describe.each(eras)('the official client of the %s era', (era) => {
  test('lists, gets, reads and verifies the skills of our server', async () => {
    const server = createMcpServer({ name: 'ours', version: '1', skills: [forms, now] });
    const { transport, peer } = memory();
    server.listen(transport, silent);
    const client = new Client(
      { name: 'official', version: '1' },
      { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : 'auto' } },
    );
    await client.connect(toSdkTransport(peer) as never);
    onTestFinished(() => client.close());
    const skills = new SkillsClient(client);
    expect([skills.supported, skills.directoryRead]).toEqual([true, true]);
    const { skills: entries, invalid } = await skills.list();
    expect(invalid).toEqual([]);
    expect(entries.map(({ uri }) => uri)).toEqual([forms.uri, now.uri]);
    const [first, second] = entries as [(typeof entries)[0], (typeof entries)[0]];
    expect((await skills.get(forms.uri)).skill).toEqual(first);
    const manifest = await skills.read(first);
    expect(manifest).toMatchObject({ verified: true, frontmatter: { ...forms.frontmatter } });
    expect(manifest.body?.trim()).toBe('# Forms');
    expect(await skills.read(first, 'references/eu%20form.md')).toMatchObject({ text: 'Ü €\n' });
    expect((await skills.read(first, 'seal.png')).bytes).toEqual(new Uint8Array([0x89, 0xff, 0]));
    expect(await skills.read(second, 'time.txt')).toMatchObject({ text: 'now', verified: false });
    const { resources } = await skills.readDirectory('skill://acme/office/pdf-processing');
    expect(resources.map(({ name }) => name)).toEqual(['pdf-processing', 'references', 'seal.png']);
  });
});

describe.each(eras)('our host with an official server of the %s era', (era) => {
  test('lists, gets, reads and verifies its skills', async () => {
    const extension = await SkillsExtension.load(
      memorySkillFiles({
        'acme/refunds/SKILL.md':
          '---\nname: refunds\ndescription: >-\n  Handles\n  refunds\nmetadata:\n  owner: billing\n---\n# Refunds\n',
        'acme/refunds/letters/Q&A #1.md': 'Dear',
        'acme/refunds/seal.png': new Uint8Array([0x89, 0xff, 0]),
      }),
    );
    const server = new McpServer({ name: 'official', version: '1' }, {});
    extension.attach(server);
    const [theirs, ours] = InMemoryTransport.createLinkedPair();
    await server.connect(theirs);
    const host = await connect(
      { transport: ours as never },
      { ...silent, ...(era === 'legacy' ? { revision: '2025-11-25' } : {}) },
    );
    onTestFinished(async () => {
      await host.close();
      await server.close();
    });
    const [skill, ...others] = await host.skills.list();
    expect(others).toEqual([]);
    if (!skill) throw new Error('There is no skill');
    expect(skill.frontmatter).toEqual({
      name: 'refunds',
      description: 'Handles refunds',
      metadata: { owner: 'billing' },
    });
    expect(await host.skills.get(skill.uri)).toEqual(skill);
    const read = await host.skills.read(skill);
    expect(read).toMatchObject({ isVerified: true, mimeType: 'text/markdown' });
    expect(read.text).toContain('# Refunds');
    const named = [
      'letters/Q&A #1.md',
      './letters/../letters/Q%26A%20%231.md',
      'skill://acme/refunds/letters/Q%26A%20%231.md',
    ];
    for (const path of named) expect((await host.skills.read(skill, path)).text, path).toBe('Dear');
    const seal = await host.skills.read(skill, 'seal.png');
    expect(seal.bytes).toEqual(new Uint8Array([0x89, 0xff, 0]));
    expect(seal).not.toHaveProperty('text');
    const children = await host.skills.readDirectory('skill://acme/refunds');
    expect(children.map(({ name }) => name).sort()).toEqual(['SKILL.md', 'letters', 'seal.png']);
  });
});
