/** The session of docs/diagnosing.md: a search waits for roots that the client does not list. */
import type { SessionDump } from '../packages/diagnostics/src/session-dump.ts';

const level = (count: number, max: number) => ({ count, max });
const actor = (id: string) => ({ id, kind: 'actor', status: 'active' }) as const;

export const shownDump: SessionDump = {
  side: 'server',
  id: 'fb339894-c0f3-46f4-b557-b835317541f7',
  state: 'initialized',
  tags: ['operating'],
  ageMs: 125_000,
  quietMs: 42_000,
  client: {
    name: 'claude-code',
    version: '2.1.0',
    revision: '2025-11-25',
    capabilities: { roots: {}, elicitation: {} },
  },
  actors: [
    actor('writer'),
    actor('correlation'),
    { id: 'roots', kind: 'machine', status: 'active', state: 'querying.stale' },
    actor('router'),
    actor('reader'),
  ],
  roots: {
    state: 'querying.stale',
    tags: ['asking'],
    status: 'known',
    settled: false,
    generation: 1,
    list: [{ uri: 'file:///work/app' }, { uri: 'file:///work/library' }],
  },
  calls: [
    {
      id: 7,
      method: 'tools/call',
      subject: 'search_text',
      state: 'running',
      ageMs: 42_000,
      openQuestions: 0,
      awaitsRoots: true,
    },
  ],
  pending: [
    {
      id: 's-1-7196caa2-7d50-44ad-bfe6-d94696f4bd0c',
      method: 'roots/list',
      state: 'sent',
      ageMs: 3000,
      leftMs: 2000,
    },
  ],
  tasks: [],
  queues: {
    running: level(1, 64),
    waiting: level(0, 1024),
    pending: level(1, 1024),
    outboundBytes: level(0, 16 * 1024 * 1024),
    tasks: level(0, 64),
    inFlightBytes: level(0, 134_217_728),
    retainedBytes: level(0, 67_108_864),
    holds: [],
  },
};
