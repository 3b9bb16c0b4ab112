/** A bridge in front of a server keeps every invariant that the server keeps. */
import { createMcpServer, definePrompt, defineResource, memory, toSdkTransport } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import { expect, test } from 'vitest';
import { checkServer } from '../src/check-server.ts';
import type { ClientFeatures } from '../src/client.machine.ts';
import { reportText } from '../src/report-text.ts';
import { randomWalks, seededRandom } from '../src/sequences.ts';
import type { Launch } from '../src/server-process.ts';
import { tool } from '../../../test/contract/serving.ts';

const silent = { report: () => {} };

const question = {
  messages: [{ role: 'user', content: { type: 'text', text: 'What?' } }],
  maxTokens: 10,
};

const server = createMcpServer({
  name: 'behind',
  version: '1.0.0',
  tools: [
    tool('asks', async (_, context) =>
      JSON.stringify(await context.request('sampling/createMessage', question)),
    ),
  ],
  resources: [defineResource({ uri: 'own://text', name: 'text', read: () => 'text' })],
  prompts: [definePrompt({ name: 'prompt', get: () => 'text' })],
  logging: {},
});

/** Launches a separate bridge in front of that server for each play. */
const launchBridged: Launch = (listener) => {
  const transport = () => {
    const ends = memory();
    server.listen(ends.transport, silent);
    return toSdkTransport(ends.peer);
  };
  const { transport: near, peer } = memory();
  const session = bridge({ transport }, silent).listen(near, silent);
  peer.received$.subscribe((frame) => listener.line(JSON.stringify(frame)));
  void session.closed.then(({ kind }) =>
    listener.ended(kind === 'input-ended' ? { code: 0, signal: null } : { code: 1, signal: kind }),
  );
  return {
    send: (text) => peer.sendRaw(text),
    end: () => peer.end(),
    kill: () => session.shutdown('the play is over'),
  };
};

test.each(['2025-11-25', '2026-07-28'])(
  'a bridge keeps every invariant with a client of %s in any order of moves',
  async (revision) => {
    const features: ClientFeatures = {
      tools: ['asks'],
      asks: true,
      withdraws: false,
      declares: { tools: true, resources: true, prompts: true, logging: true },
      stateless: revision === '2026-07-28',
      transport: 'stdio',
      batches: false,
      movesTime: false,
    };
    const report = await checkServer({
      ...{ launch: launchBridged, revision, tools: new Map([['asks', {}]]) },
      ...{ rootsUri: 'file:///roots', seed: 1, walks: 0, jobs: 8 },
      times: { startMs: 60_000, answerMs: 60_000, endMs: 60_000, quietMs: 100 },
      sequences: randomWalks(features, 12, seededRandom(7)),
    });
    const outcomes = report.findings.map(({ outcome }) => outcome);
    expect(outcomes).toContain('holds');
    expect(outcomes.includes('broken') ? reportText(report) : '').toBe('');
  },
);
