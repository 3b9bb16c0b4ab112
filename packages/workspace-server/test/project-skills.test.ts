/** Project skills served by the workspace server. */
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createMcpServer } from 'mcp-actors';
import { testClient } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../roots/test/temporary-directory.ts';
import { workspaceServer } from '../src/workspace-server.ts';
import type { WorkspaceOptions } from '../src/workspace-server.ts';

const manifest = (name: string, description: string) =>
  `---\nname: ${name}\ndescription: ${description}\n---\n# ${name}\n`;

async function skillsIn(directory: string, ...projects: readonly string[]) {
  const { definition } = workspaceServer({ cwd: '/', home: '/nobody', version: '1' });
  const roots = projects.map((project) => ({ uri: pathToFileURL(join(directory, project)).href }));
  const client = await testClient(createMcpServer(definition), { roots });
  const { skills } = (await client.request('skills/list')) as {
    skills: { uri: string; frontmatter: { description: string } }[];
  };
  return { client, skills: skills.map(({ uri, frontmatter }) => [uri, frontmatter.description]) };
}

test('project skills are listed once each, and their files are read inside the root', async () => {
  const directory = await temporaryDirectory({
    'secret.md': 'secret',
    'a/.agents/skills/release/SKILL.md': manifest('release', 'of agents'),
    'a/.agents/skills/release/steps.md': '1. Ship',
    'a/.claude/skills/release/SKILL.md': manifest('release', 'of claude'),
    'a/.claude/skills/review/SKILL.md': manifest('review', 'of claude'),
    'a/.claude/skills/broken/SKILL.md': 'broken',
    'b/.claude/skills/other/SKILL.md': manifest('other', 'of another root'),
  });
  await symlink(join(directory, 'secret.md'), join(directory, 'a/.claude/skills/review/link.md'));
  const { skills, client } = await skillsIn(directory, 'a', 'b');
  expect(skills).toEqual([['skill://release/SKILL.md', 'of agents']]);
  expect(await client.readResource('skill://release/steps.md')).toMatchObject({
    contents: [{ text: '1. Ship' }],
  });
  await expect(client.readResource('skill://review/link.md')).rejects.toThrow();
});

test('skipped project skills are reported with the reason, once until it changes', async () => {
  const directory = await temporaryDirectory({
    'a/.agents/skills/broken/SKILL.md': 'broken',
    'a/.agents/skills/review/SKILL.md': manifest('review', 'of agents'),
    'a/.claude/skills/review/SKILL.md': manifest('review', 'of claude'),
  });
  const problems: string[] = [];
  const { definition } = workspaceServer({
    ...{ directories: [join(directory, 'a')], cwd: '/', home: '/nobody', version: '1' },
    onSkippedSkill: (problem) => problems.push(problem),
  });
  const client = await testClient(createMcpServer(definition));
  await client.request('skills/list');
  await client.request('skills/list');
  expect(problems).toEqual([
    expect.stringContaining('broken is skipped: The file must begin with a line ---'),
    expect.stringContaining('Skill "review" in .claude/skills is skipped'),
  ]);
  await writeFile(join(directory, 'a/.agents/skills/broken/SKILL.md'), '---\nname: 7\n---\n');
  await client.request('skills/list');
  expect(problems).toHaveLength(3);
});

test('project skills may be in a directory linked from the other one', async () => {
  const directory = await temporaryDirectory({
    'a/.agents/skills/release/SKILL.md': manifest('release', 'of agents'),
    'a/.claude/settings.json': '{}',
  });
  await symlink('../.agents/skills', join(directory, 'a/.claude/skills'));
  const { skills } = await skillsIn(directory, 'a');
  expect(skills).toEqual([['skill://release/SKILL.md', 'of agents']]);
});

test('project skills are empty without skill directories or without a project', async () => {
  const directory = await temporaryDirectory({ 'a/README.md': '' });
  expect((await skillsIn(directory, 'a')).skills).toEqual([]);
  expect((await skillsIn(directory)).skills).toEqual([]);
});

test('project skills come from a user-named directory for a 2026-07-28 client, whose roots cannot be queried in a list', async () => {
  const directory = await temporaryDirectory({
    'a/.claude/skills/of-root/SKILL.md': manifest('of-root', 'of a root'),
    'b/.claude/skills/named/SKILL.md': manifest('named', 'of a named directory'),
  });
  const roots = [{ uri: pathToFileURL(join(directory, 'a')).href }];
  const named = join(directory, 'b');
  const clientOf = async (where: Partial<WorkspaceOptions>, options: object) => {
    const { definition } = workspaceServer({ cwd: '/', home: '/nobody', version: '1', ...where });
    return testClient(createMcpServer(definition), { revision: '2026-07-28', ...options });
  };
  const client = await clientOf({ directories: [named] }, { roots });
  expect(await client.request('skills/list')).toMatchObject({
    skills: [{ uri: 'skill://named/SKILL.md' }],
  });
  expect(await client.readResource('skill://named/SKILL.md')).toMatchObject({
    contents: [{ text: manifest('named', 'of a named directory') }],
  });
  // The working directory would be a guess if the client has roots.
  const guessing = await clientOf({ cwd: named }, { roots });
  expect(await guessing.request('skills/list')).toMatchObject({ skills: [] });
  const without = await clientOf({ cwd: named }, {});
  expect(await without.request('skills/list')).toMatchObject({
    skills: [{ uri: 'skill://named/SKILL.md' }],
  });
});
