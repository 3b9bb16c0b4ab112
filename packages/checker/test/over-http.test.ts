/** Check of a server at a URL: every planted fault is found by its invariant. */
import { describe, expect, test } from 'vitest';
import type { TestContext } from 'vitest';
import type { CheckReport } from '../src/check-report.ts';
import { checkServer } from '../src/check-server.ts';
import { launchHttp } from '../src/http/http-wire.ts';
import { onlyOverHttp } from '../src/invariants/over-http.ts';
import { reportText } from '../src/report-text.ts';
import { parseSequence } from '../src/move.ts';
import { isStateless } from '../src/outgoing.ts';
import { listenBroken } from './broken-http.ts';
import { listenBrokenModern } from './broken-modern-http.ts';

const handshake = 'initialize wait initialized wait';
const modern = '2026-07-28';

interface Row {
  readonly id: string;
  readonly fault: string;
  /** The sequence played. */
  readonly plays: string;
  /** Valid server behaviour without which the fault would be invisible. */
  readonly ways: readonly string[];
  readonly revision: string;
}

const row = (id: string, fault: string, plays = handshake, ...ways: readonly string[]): Row => ({
  id,
  fault,
  plays,
  ways,
  revision: '2025-11-25',
});
const modernRow = (id: string, fault: string, plays: string): Row => ({
  ...row(id, fault, plays),
  revision: modern,
});

const streams = `${handshake} call:slow wait`;

/** Every HTTP invariant with a fault that breaks it. */
const rows: readonly Row[] = [
  row('http-messages', 'empty-events', handshake),
  row('http-accepted', '202-with-body'),
  row('http-accepted', '200-for-notifications'),
  row('http-content-type', 'text'),
  row('http-origin', 'any-origin', `${handshake} http-origin wait`),
  row('http-get', 'hello-get'),
  row('http-version', 'any-version', `${handshake} http-version wait`),
  row('http-session-id', 'spaced-id'),
  row('http-no-session', '404-without-session', `${handshake} http-no-session wait`),
  row('http-unknown-session', 'adopts', `${handshake} http-strange-session wait`),
  row('http-ended-session', 'immortal', `${handshake} http-gone`),
  row('http-own-stream', 'answers-elsewhere', `${handshake} call:slow list wait`, 'events'),
  row('http-progress-stream', 'progress-on-get', streams, 'events'),
  row('http-stream-ends', 'stays-open', handshake, 'events'),
  row('http-get-unanswering', 'answers-on-get', `${handshake} list wait`),
  row(
    'http-one-stream',
    'broadcasts',
    `${handshake} answer wait http-second-stream wait roots-changed wait`,
  ),
  row('http-event-ids', 'same-event-ids', `${handshake} list wait`, 'events'),
  row(
    'http-replay',
    'replays-all',
    `${handshake} call:slow wait list wait http-resume wait`,
    'events',
  ),
  row('http-priming', 'unprimed', handshake, 'events'),
  modernRow('http-version-mismatch', 'any-header', 'discover wait list wait http-version wait'),
  modernRow('http-method-mismatch', 'any-header', 'list wait http-method wait'),
  modernRow('http-method-missing', 'any-header', 'list wait http-no-method wait'),
  modernRow('http-name-mismatch', 'any-header', 'list wait http-name wait'),
  modernRow('http-encoded-name', 'raw-name', 'list wait http-encoded-name wait'),
  modernRow('http-method-not-found', '200-for-errors', 'unknown-method wait'),
  modernRow('http-unsupported-revision', '200-for-errors', 'revision-unknown wait'),
  modernRow('http-bare-request', '200-for-errors', 'list wait bare wait'),
  modernRow('http-no-sessions', 'mints', 'list wait'),
  modernRow('http-session-ignored', 'needs-no-session', 'list wait http-strange-session wait'),
  modernRow('http-methods', 'takes-get', 'list wait http-get wait'),
  modernRow('http-buffering', 'buffered', 'list wait listen wait'),
  modernRow('http-listen-stream', 'listens-as-json', 'list wait listen wait'),
];

const times = { startMs: 5_000, answerMs: 5_000, endMs: 5_000, quietMs: 5 };

async function check(
  url: URL,
  { id, plays, revision }: Pick<Row, 'id' | 'plays' | 'revision'>,
  headers: { readonly [name: string]: string } = {},
): Promise<CheckReport> {
  const read = parseSequence(plays);
  if ('unknown' in read) throw new Error(`Unknown move ${read.unknown}`);
  return checkServer({
    launch: launchHttp({ url, headers, revision, endMs: times.endMs }),
    transport: 'http',
    revision,
    tools: new Map([['slow', {}]]),
    rootsUri: 'file:///check',
    times,
    seed: 1,
    walks: 0,
    jobs: 1,
    ...(id === '' ? {} : { only: new Set([id]) }),
    sequences: [read.moves],
  });
}

/** Concurrent tests must use the hooks of their own context. */
async function server(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  revision: string,
  words: readonly string[],
): Promise<{ readonly url: URL }> {
  const listening = isStateless(revision)
    ? await listenBrokenModern(words)
    : await listenBroken(words);
  onTestFinished(() => listening.close());
  return listening;
}

describe.concurrent('each HTTP invariant', () => {
  test.for(rows)('is reported broken: $id by $fault', async (broken, context) => {
    const { url } = await server(context, broken.revision, [broken.fault, ...broken.ways]);
    const { findings } = await check(url, broken);
    expect(findings).toMatchObject([{ id: broken.id, outcome: 'broken', breach: { again: true } }]);
  });

  test.for(rows)('holds without the fault: $id without $fault', async (whole, context) => {
    const { url } = await server(context, whole.revision, whole.ways);
    const { findings, notes } = await check(url, whole);
    expect({ findings, notes }).toMatchObject({
      findings: [{ id: whole.id, outcome: 'holds' }],
      notes: [],
    });
  });

  test('has a fault that breaks it', () => {
    const shown = new Set(rows.map(({ id }) => id));
    expect(onlyOverHttp.map(({ id }) => id).filter((id) => !shown.has(id))).toEqual([]);
  });
});

describe.concurrent('check over HTTP', () => {
  const whole = { id: '', plays: streams, revision: '2025-11-25' };
  const outcomes = ({ findings }: CheckReport, ...ids: readonly string[]) =>
    findings.filter(({ id }) => ids.includes(id)).map(({ id, outcome }) => [id, outcome]);

  test('reports process invariants as untested, with the reason', async (context) => {
    const { url } = await server(context, whole.revision, []);
    const report = await check(url, whole);
    const processes = ['stdout', 'rush', 'ends', 'ends-well', 'answers-before-end'];
    expect(outcomes(report, ...processes)).toEqual(processes.map((id) => [id, 'untried']));
    expect(reportText(report)).toContain('needs a server over stdio: over HTTP its process');
  });

  test.for([
    [
      'the refusal of a long request',
      'notifications-silent',
      'refuses-big',
      `${handshake} big wait`,
      '2025-11-25',
      'holds',
    ],
    [
      'the refusal of a long request',
      'answered',
      'refuses-big',
      `${handshake} big wait`,
      '2025-11-25',
      'holds',
    ],
    [
      'a subscription that is refused for a limit',
      'http-listen-stream',
      'limits-listen',
      'list wait listen wait',
      modern,
      'untried',
    ],
    [
      'a server that keeps the sessions of earlier revisions beside',
      'http-methods',
      'keeps-sessions',
      'list wait http-get wait',
      modern,
      'untried',
    ],
    [
      'an error without the id of the request that it refuses',
      'answered',
      'routes-by-header',
      'revision-unknown wait',
      modern,
      'holds',
    ],
    [
      'a refusal of the version in the header before it is compared',
      'http-version-mismatch',
      'version-first',
      'list wait http-version wait',
      modern,
      'untried',
    ],
    [
      'a refusal of a session by a server of both eras',
      'http-session-ignored',
      'needs-no-session dual-era',
      'list wait http-strange-session wait',
      modern,
      'untried',
    ],
    [
      'a session of a server of both eras',
      'http-no-sessions',
      'mints dual-era',
      'list wait',
      modern,
      'untried',
    ],
    [
      'a server that does not require the id of its session',
      'http-no-session',
      'adopts',
      `${handshake} http-no-session wait`,
      '2025-11-25',
      'untried',
    ],
    [
      'a resumed stream beside which no other stream has events',
      'http-replay',
      '',
      `${handshake} answer wait http-resume wait`,
      '2025-11-25',
      'untried',
    ],
    [
      'a server that has too much to do',
      'answered',
      'busy',
      `${handshake} list wait`,
      '2025-11-25',
      'holds',
    ],
  ] as const)('%s breaks nothing: %s', async ([, id, way, plays, revision, outcome], context) => {
    const { url } = await server(context, revision, way.split(' '));
    const report = await check(url, { id, plays, revision });
    expect(outcomes(report, id)).toEqual([[id, outcome]]);
  });

  test('requires an unknown revision to be rejected as such, whichever layer answers', async (context) => {
    const { url } = await server(context, modern, ['routes-by-header']);
    const plays = 'list wait revision-unknown wait http-version wait';
    const report = await check(url, { id: '', plays, revision: modern });
    const ids = ['http-unsupported-revision', 'http-version-mismatch'] as const;
    expect(outcomes(report, ...ids)).toEqual(
      expect.arrayContaining(ids.map((id) => [id, 'broken'])),
    );
  });

  test('does not wait for or accept a status without a message as an answer', async (context) => {
    const { url } = await server(context, whole.revision, ['drops-lists']);
    const report = await check(url, { ...whole, id: 'answered', plays: `${handshake} list wait` });
    const [finding] = report.findings;
    expect(finding?.outcome).toBe('broken');
    expect(finding?.breach?.detail).toMatch(
      /^tools\/list with the id \d+ received no message but HTTP 500, text\/plain: refused$/,
    );
  });

  test('resumes a stream that the server closes before the answer', async (context) => {
    const { url } = await server(context, whole.revision, ['events', 'polls']);
    const report = await check(url, whole);
    expect(outcomes(report, 'answered', 'answered-once', 'http-own-stream', 'http-replay')).toEqual(
      [
        ['answered', 'holds'],
        ['answered-once', 'holds'],
        ['http-own-stream', 'holds'],
        ['http-replay', 'holds'],
      ],
    );
  });

  test('judges servers without GET, without DELETE and without sessions', async (context) => {
    for (const way of ['no-get', 'no-delete', 'sessionless']) {
      const { url } = await server(context, whole.revision, [way]);
      const { findings } = await check(url, { ...whole, plays: `${handshake} list wait` });
      const details = findings.flatMap(({ id, breach }) =>
        breach ? [[way, id, breach.detail]] : [],
      );
      expect(details).toEqual([]);
    }
  });

  test('ends the session of each play and sends the configured headers', async (context) => {
    const broken = await listenBroken([]);
    context.onTestFinished(() => broken.close());
    const report = await check(broken.url, whole, { authorization: 'Bearer secret-token' });
    expect(broken.sessions()).toBe(0);
    expect(broken.last()).toMatchObject({ authorization: 'Bearer secret-token' });
    expect(broken.seen.get('DELETE')).toBe(report.plays);
    expect(JSON.stringify(report)).not.toContain('secret-token');
  });
});
