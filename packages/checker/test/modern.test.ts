/** Check of 2026-07-28: every planted fault is found by its invariant. */
import { expect, test } from 'vitest';
import { checkServer } from '../src/check-server.ts';
import { statelessInvariants } from '../src/invariants/modern.ts';
import { parseSequence, formatSequence } from '../src/move.ts';
import { isWalk, coveringSequences, randomWalks, seededRandom } from '../src/sequences.ts';
import type { Launch } from '../src/server-process.ts';
import { reportText } from '../src/report-text.ts';

const revision = '2026-07-28';
const prefix = 'io.modelcontextprotocol';

interface Asked {
  readonly id?: unknown;
  readonly method: string;
  readonly params?: {
    readonly [member: string]: unknown;
    readonly _meta?: { readonly [key: string]: unknown };
  };
}

/** A small server of this era with selectable faults. Shares no code with the project. */
function launch(fault: string): Launch {
  return (listener) => {
    const has = (name: string) => name === fault;
    const later = (action: () => void) => void setImmediate(action);
    const send = (message: object) =>
      later(() => listener.line(JSON.stringify({ jsonrpc: '2.0', ...message })));
    const result = (id: unknown, value: object) =>
      send({ id, result: has('untyped') ? value : { resultType: 'complete', ...value } });
    const refuse = (id: unknown, code: number, data?: object) =>
      send({ id, error: { code, message: 'refused', ...(data ? { data } : {}) } });
    const cached = (value: object) =>
      has('uncached') ? value : { ...value, ttlMs: has('aged') ? -1 : 0, cacheScope: 'private' };
    const call = (id: unknown, { params = {} }: Asked, declared: object) => {
      const { requestState, inputResponses } = params;
      if (requestState !== undefined && requestState !== 'sealed' && !has('trusting')) {
        return refuse(id, -32_602);
      }
      if (inputResponses) {
        return has('forgetful') ? refuse(id, -32_603) : result(id, { content: [] });
      }
      if (!('sampling' in declared) && !has('presuming')) return result(id, { content: [] });
      const method = has('inventive') ? 'custom/ask' : 'sampling/createMessage';
      const inputRequests = { a: { method, params: { messages: [], maxTokens: 1 } } };
      const asking = has('wordless') ? {} : { inputRequests, requestState: 'sealed' };
      return send({ id, result: { resultType: 'input_required', ...asking } });
    };
    const receive = (asked: Asked) => {
      const { id, method, params = {} } = asked;
      if (method === 'notifications/cancelled' && has('talkative')) {
        const { requestId } = params;
        const _meta = { [`${prefix}/subscriptionId`]: requestId };
        // After the next response.
        later(() =>
          later(() =>
            later(() => send({ method: 'notifications/tools/list_changed', params: { _meta } })),
          ),
        );
      }
      if (id === undefined) return;
      const version = params._meta?.[`${prefix}/protocolVersion`];
      const declared = params._meta?.[`${prefix}/clientCapabilities`] as object | undefined;
      if (!declared || version === undefined) {
        if (has('lenient')) return result(id, cached({ tools: [] }));
        return refuse(id, -32_602);
      }
      if (version !== revision) {
        const supported = has('secretive') ? [] : [revision];
        return refuse(id, has('vague') ? -32_602 : -32_022, { supported, requested: version });
      }
      if ('cursor' in params) return refuse(id, -32_602);
      if (has('demanding') && method === 'tools/list') send({ id: 's1', method: 'roots/list' });
      switch (method) {
        case 'server/discover':
          return result(
            id,
            cached({
              supportedVersions: has('denying') ? ['2025-11-25'] : [revision],
              capabilities: { tools: {}, resources: {} },
              _meta: { [`${prefix}/serverInfo`]: { name: 'small', version: '1' } },
            }),
          );
        case 'tools/list':
          if (has('asking-lists')) {
            return send({ id, result: { resultType: 'input_required', requestState: 'sealed' } });
          }
          return result(id, cached({ tools: [{ name: 'asks', inputSchema: { type: 'object' } }] }));
        case 'resources/list':
          return result(id, cached({ resources: [] }));
        case 'resources/templates/list':
          return result(id, cached({ resourceTemplates: [] }));
        case 'resources/read':
          return refuse(id, has('antiquated') ? -32_002 : has('generic') ? -32_603 : -32_602);
        case 'tools/call':
          return call(id, asked, declared);
        case 'subscriptions/listen': {
          const _meta = { [`${prefix}/subscriptionId`]: id };
          if (has('hasty')) send({ method: 'notifications/tools/list_changed', params: { _meta } });
          const acknowledged = { _meta, notifications: {} };
          return send({
            method: 'notifications/subscriptions/acknowledged',
            params: acknowledged,
          });
        }
        case 'ping':
          return has('ponging') ? result(id, {}) : refuse(id, -32_601);
        default:
          return refuse(id, -32_601);
      }
    };
    const read = (line: string) => {
      let message: unknown;
      try {
        message = JSON.parse(line);
      } catch {
        return refuse(null, -32_700);
      }
      const { id, method } = message as Partial<Asked>;
      if (method === undefined) refuse(id, -32_600);
      else receive(message as Asked);
    };
    return {
      send: (text) => {
        for (const line of text.split('\n').filter(Boolean)) {
          later(() => read(line));
        }
      },
      end: () => later(() => later(() => listener.ended({ code: 0, signal: null }))),
      kill: () => {},
    };
  };
}

const check = (fault: string, plays?: string) => {
  const read = plays === undefined ? undefined : parseSequence(plays);
  if (read && 'unknown' in read) throw new Error(`Unknown move ${read.unknown}`);
  return checkServer({
    launch: launch(fault),
    revision,
    tools: new Map([['asks', {}]]),
    rootsUri: 'file:///roots',
    times: { startMs: 2_000, answerMs: 2_000, endMs: 2_000, quietMs: 10 },
    seed: 1,
    walks: 5,
    jobs: 1,
    ...(read ? { sequences: [read.moves] } : {}),
  });
};

const rows: readonly (readonly [id: string, fault: string, plays: string])[] = [
  ['no-requests', 'demanding', 'list wait'],
  ['discover', 'denying', 'discover wait'],
  ['result-type', 'untyped', 'list wait'],
  ['unsupported-revision', 'vague', 'revision-unknown wait'],
  ['unsupported-revision', 'secretive', 'revision-unknown wait'],
  ['bare-request', 'lenient', 'list bare wait'],
  ['removed-method', 'ponging', 'list removed wait'],
  ['defined-codes', 'antiquated', 'list bad-resource wait'],
  ['asks-where-it-may', 'asking-lists', 'list wait'],
  ['asks-where-it-may', 'inventive', 'list call:asks wait'],
  ['asks-where-it-may', 'wordless', 'list call:asks wait'],
  ['asks-what-is-declared', 'presuming', 'list call-bare:asks wait'],
  ['retry-answered', 'forgetful', 'list call:asks retry wait'],
  ['state-verified', 'trusting', 'list call:asks retry-forged wait'],
  ['acknowledged-first', 'hasty', 'list listen wait'],
  ['unlistened-silent', 'talkative', 'list listen wait unlisten wait wait wait'],
  ['cache-hints', 'uncached', 'list wait'],
  ['cache-hints', 'aged', 'discover wait'],
  ['no-resource', 'generic', 'list bad-resource wait'],
];

test.for(rows)('%s finds the fault %s in %s', async ([id, fault, plays]) => {
  const { findings } = await check(fault, plays);
  expect(findings.find((finding) => finding.id === id)).toMatchObject({ outcome: 'broken' });
  const sound = await check('none', plays);
  expect(sound.findings.find((finding) => finding.id === id)?.outcome).not.toBe('broken');
});

test('each stateless invariant has a fault that breaks it', () => {
  const tried = new Set(rows.map(([id]) => id));
  expect(statelessInvariants.filter(({ id }) => !tried.has(id)).map(({ id }) => id)).toEqual([]);
});

test('a stateless server without a fault breaks no invariant in any order of moves', async () => {
  const report = await check('none');
  const broken = report.findings.filter(({ outcome }) => outcome === 'broken');
  expect(broken.length === 0 ? '' : reportText(report)).toBe('');
});

test('stateless sequences are walks of the stateless client', () => {
  const features = {
    tools: ['slow', 'asks'],
    asks: true,
    withdraws: false,
    declares: { tools: true, resources: true, prompts: true, logging: false },
    stateless: true,
    transport: 'stdio' as const,
    batches: false,
    movesTime: false,
  };
  const walks = [...coveringSequences(features), ...randomWalks(features, 50, seededRandom(3))];
  expect(walks.filter((walk) => !isWalk(walk, features)).map(formatSequence)).toEqual([]);
  expect(walks.flat().some(({ type }) => type.startsWith('initialize'))).toBe(false);
});
