/** Many servers of which some start slowly, as a cold `npx` does. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Fact, JsonObject } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import { TestClock } from 'mcp-actors/testing';
import { hostOf } from './hosts.ts';
import type { Era, Host } from './hosts.ts';

const crowd = 'packages/bridge/test/crowd-server.mjs';

/** A host of two servers that start once `go` is called. */
async function slowlyStarting(era: Era) {
  const folder = await mkdtemp(join(tmpdir(), 'late-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'go');
  const entry = (name: string) => ({
    command: process.execPath,
    args: [crowd, name, 'good', `after=${file}`],
  });
  const clock = new TestClock();
  const facts: Fact[] = [];
  const mcpServers = { a: entry('a'), b: entry('b') };
  const report = (fact: Fact) => void facts.push(fact);
  const server = bridge({ mcpServers }, { clock, report });
  const connecting = hostOf(era, server);
  return { clock, facts, connecting, go: () => writeFile(file, '') };
}

const names = async (list: Promise<JsonObject>) =>
  ((await list) as { tools: { name: string }[] }).tools.map(({ name }) => name);

/** Lets the clock pass while the handshake waits for the first server. */
async function connected(connecting: Promise<Host>, clock: TestClock): Promise<Host> {
  let host: Host | undefined;
  void connecting.then((each) => (host = each));
  await vi.waitFor(
    () => {
      clock.increment(1000);
      expect(host).toBeDefined();
    },
    { timeout: 60_000 },
  );
  const found = await connecting;
  onTestFinished(() => found.close());
  return found;
}

describe.each(['legacy', 'modern'] as const)('a %s host of a bridge with late servers', (era) => {
  test('gets tools of servers that start after the handshake in its first list', async () => {
    const { clock, connecting, facts, go } = await slowlyStarting(era);
    const host = await connected(connecting, clock);
    const listed = names(host.request('tools/list'));
    await go();
    expect(await listed).toEqual(expect.arrayContaining(['a__who', 'b__who']));
    expect(facts.map(({ name }) => name)).not.toContain('bridge.server-late');
  });

  test('gets a list without slow servers, a log line, and a notification once they are ready', async () => {
    const { clock, connecting, facts, go } = await slowlyStarting(era);
    const host = await connected(connecting, clock);
    const changed = host.next('notifications/tools/list_changed');
    if (era === 'modern') await host.listen({ toolsListChanged: true });
    let isListed = false;
    const listed = names(host.request('tools/list')).finally(() => (isListed = true));
    await vi.waitFor(
      () => {
        clock.increment(5000);
        expect(isListed).toBe(true);
      },
      { timeout: 60_000 },
    );
    expect(await listed).toEqual([]);
    const late = facts.filter(({ name }) => name === 'bridge.server-late');
    expect(late).toMatchObject([
      { level: 'warning', message: expect.stringMatching(/"?a"?, "?b"?/) },
    ]);
    await go();
    let isAnnounced = false;
    void changed.then(() => (isAnnounced = true));
    await vi.waitFor(
      () => {
        clock.increment(1000);
        expect(isAnnounced).toBe(true);
      },
      { timeout: 60_000 },
    );
    await vi.waitFor(
      async () => {
        clock.increment(1000);
        const again = names(host.request('tools/list'));
        expect(await again).toEqual(expect.arrayContaining(['a__who', 'b__who']));
      },
      { timeout: 60_000 },
    );
  });
});
