import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkServer } from '../src/check-server.ts';
import type { CheckReport } from '../src/check-report.ts';
import { invariants } from '../src/invariants/tally.ts';
import { parseSequence, formatSequence } from '../src/move.ts';
import type { MoveSequence } from '../src/move.ts';
import { makeRootsFolder } from '../src/roots-folder.ts';
import type { RootsFolder } from '../src/roots-folder.ts';
import { launchInside } from './launch-inside.ts';

const handshake = 'initialize wait initialized wait';

/** Two changes during the roots query, and an answer to the one query they cause. */
const burst = 'roots-changed wait roots-changed wait answer wait answer wait';

interface Row {
  readonly id: string;
  readonly fault: string;
  /** The sequence played. */
  readonly plays: string;
  /** Shortest sequence that shows the fault. */
  readonly shortest: string;
  /** Valid server behaviour without which the fault would be invisible. */
  readonly way?: 'logs' | 'restarts-query' | 'gives-up';
  readonly revision?: string;
  /** Default: `slow` and `roots`. */
  readonly tools?: readonly string[];
}

const row = (
  id: string,
  fault: string,
  plays: string,
  shortest = '',
  more: Partial<Row> = {},
): Row => ({ id, fault, plays, shortest, ...more });

/**
 * Invariants whose correct behaviour is silence or depends on time: the play moves the server's
 * clock instead of waiting.
 */
const timeless: ReadonlySet<string> = new Set([
  'answered',
  'same-id',
  'batch',
  'rush',
  'last-roots-win',
  'late-answer-ignored',
]);

/** Every invariant with a fault that breaks it. */
const rows: readonly Row[] = [
  row('stdout', 'prints', handshake),
  row(
    'responses',
    'text-code',
    `${handshake} unknown-method wait`,
    'initialize initialized unknown-method',
  ),
  row('request-ids', 'null-id', handshake, 'initialize initialized'),
  row(
    'ids-not-reused',
    'reused-id',
    `${handshake} answer wait roots-changed wait`,
    'initialize initialized roots-changed',
  ),
  row(
    'answered',
    'mute-on-unknown',
    `${handshake} unknown-method wait`,
    'initialize initialized unknown-method',
  ),
  row('answered-once', 'twice', handshake, 'initialize'),
  row(
    'same-id',
    'string-ids',
    `${handshake} unknown-method wait`,
    'initialize initialized unknown-method',
  ),
  row(
    'notifications-silent',
    'answers-notifications',
    `${handshake} unknown-notification wait`,
    'initialize initialized unknown-notification',
  ),
  row('ping', 'full-ping', handshake, 'initialize'),
  row('batch', 'ignores-batches', `${handshake} batch wait`, 'initialize initialized batch', {
    revision: '2025-03-26',
  }),
  row(
    'method-not-found',
    'wrong-code',
    `${handshake} unknown-method wait`,
    'initialize initialized unknown-method',
  ),
  row('initialize', 'nameless', handshake, 'initialize'),
  row('unknown-revision', 'echoes-revision', 'initialize-unknown wait', 'initialize-unknown'),
  row('quiet-before-initialized', 'asks-early', handshake, 'initialize'),
  row(
    'client-capabilities',
    'undeclared-roots',
    'initialize-bare wait initialized wait',
    'initialize-bare initialized',
  ),
  row('rush', 'rush-drops', 'rush wait', 'rush'),
  row('early-request', 'serves-early', 'early', 'early'),
  row('ends', 'stays', handshake),
  row('ends-well', 'ends-badly', handshake),
  row(
    'answers-before-end',
    'handles-later',
    'initialize-bare wait initialized wait last',
    'initialize-bare initialized last',
  ),
  row(
    'tools-declared',
    'undeclared-tools',
    `${handshake} list-all wait`,
    'initialize initialized list-all',
  ),
  row(
    'resources-declared',
    'undeclared-resources',
    `${handshake} list-all wait`,
    'initialize initialized list-all',
  ),
  row(
    'prompts-declared',
    'undeclared-prompts',
    `${handshake} list-all wait`,
    'initialize initialized list-all',
  ),
  row('logging-declared', 'undeclared-logging', handshake, 'initialize', { way: 'logs' }),
  row('tool-schemas', 'null-schema', `${handshake} list wait`, 'initialize initialized list'),
  row(
    'invalid-cursor',
    'lenient',
    `${handshake} bad-cursor wait`,
    'initialize initialized bad-cursor',
  ),
  row(
    'resource-not-found',
    'lenient',
    `${handshake} bad-resource wait`,
    'initialize initialized bad-resource',
  ),
  row(
    'prompt-not-found',
    'lenient',
    `${handshake} bad-prompt wait`,
    'initialize initialized bad-prompt',
  ),
  row(
    'invalid-log-level',
    'lenient',
    `${handshake} bad-level wait`,
    'initialize initialized bad-level',
  ),
  row(
    'cancelled-silent',
    'deaf-to-cancel',
    `${handshake} call:slow wait cancel wait`,
    'initialize initialized call:slow wait cancel wait',
  ),
  row(
    'cancelled-zero',
    'deaf-to-zero',
    'initialize-bare wait initialized wait call-zero:slow wait cancel wait',
    'initialize-bare initialized call-zero:slow wait cancel wait',
  ),
  row(
    'cancel-race',
    'dies-of-cancel',
    `${handshake} cancel-done wait`,
    'initialize initialized wait cancel-done',
  ),
  row(
    'invalid-cancel-ignored',
    'answers-cancel',
    `${handshake} cancel-unknown wait`,
    'initialize initialized cancel-unknown',
  ),
  row(
    'cancels-its-own',
    'cancels-strangers',
    `${handshake} roots-changed wait call:slow wait`,
    'initialize initialized call:slow',
    { way: 'restarts-query' },
  ),
  row(
    'progress-token',
    'wrong-token',
    `${handshake} call:slow wait`,
    'initialize initialized call:slow',
  ),
  row(
    'progress-increases',
    'progress-stands',
    `${handshake} call:slow wait`,
    'initialize initialized call:slow',
  ),
  row(
    'progress-stops',
    'late-progress',
    `${handshake} call:slow wait`,
    'initialize initialized call:slow',
  ),
  row(
    'last-roots-win',
    'floods',
    `${handshake} roots-changed wait answer-reversed wait`,
    'initialize initialized wait roots-changed wait answer-reversed',
  ),
  row(
    'one-roots-query',
    'floods',
    `${handshake} ${burst}`,
    'initialize initialized roots-changed wait',
  ),
  row(
    'one-roots-query',
    'queues-queries',
    `${handshake} ${burst}`,
    'initialize initialized wait roots-changed roots-changed answer answer wait',
  ),
  row(
    'parse-error',
    'silent-on-malformed',
    `${handshake} malformed wait`,
    'initialize initialized malformed',
  ),
  row(
    'parse-error-survived',
    'dies-of-malformed',
    `${handshake} malformed wait`,
    'initialize initialized malformed',
  ),
  row(
    'invalid-request',
    'silent-on-invalid',
    `${handshake} invalid wait`,
    'initialize initialized invalid',
  ),
  row(
    'invalid-request-survived',
    'dies-of-invalid',
    `${handshake} invalid wait`,
    'initialize initialized invalid',
  ),
  row(
    'second-answer-survived',
    'dies-of-stray-answer',
    `${handshake} answer wait answer-twice wait`,
    'initialize initialized answer answer-twice',
  ),
  row(
    'stray-answer-survived',
    'dies-of-stray-answer',
    `${handshake} answer-unknown wait`,
    'initialize initialized answer-unknown',
  ),
  // The roots query outdated by a change is cancelled, and answered after its successor.
  row(
    'late-answer-ignored',
    'uses-late-answers',
    `${handshake} roots-changed wait answer wait answer-late wait`,
    'initialize initialized roots-changed answer answer-late',
    { way: 'restarts-query' },
  ),
  row(
    'late-answer-ignored',
    'answers-answers',
    `${handshake} roots-changed wait answer-late wait`,
    'initialize initialized roots-changed wait answer-late',
    { way: 'restarts-query' },
  ),
  row(
    'late-answer-ignored',
    'dies-of-stray-answer',
    `${handshake} roots-changed wait answer-late wait`,
    'initialize initialized roots-changed wait answer-late',
    { way: 'restarts-query' },
  ),
  // A call waiting for sampling is cancelled together with its sampling request.
  row(
    'late-answer-ignored',
    'uses-late-answers',
    `${handshake} call:asks wait cancel wait answer-late wait`,
    'initialize initialized call:asks cancel wait answer-late',
    { tools: ['asks'] },
  ),
  // The server's roots query has timed out.
  row(
    'late-answer-ignored',
    'uses-late-answers',
    `${handshake} pass-time answer-late wait`,
    'initialize initialized pass-time answer-late',
    { way: 'gives-up' },
  ),
];

describe.concurrent('each invariant', () => {
  let roots: RootsFolder;
  beforeAll(async () => {
    roots = await makeRootsFolder();
  });
  afterAll(() => roots.remove());

  const check = (row: Row, fault: readonly string[]): Promise<CheckReport> =>
    checkServer({
      launch: launchInside([...fault, ...(row.way ? [row.way] : [])], timeless.has(row.id)),
      revision: row.revision ?? '2025-11-25',
      tools: new Map((row.tools ?? ['slow', 'roots']).map((tool) => [tool, {}])),
      rootsUri: roots.uri,
      times: {
        startMs: row.id === 'ends' ? 300 : 5_000,
        answerMs: 5_000,
        endMs: row.id === 'ends' ? 30 : 5_000,
        quietMs: timeless.has(row.id) ? 500 : 5,
      },
      seed: 1,
      walks: 0,
      jobs: 1,
      only: new Set([row.id]),
      sequences: [moves(row.plays)],
      movesTime: timeless.has(row.id),
    });

  test.for(rows)('is reported broken: $id by $fault', async (broken) => {
    const { findings } = await check(broken, [broken.fault]);
    expect(findings.map(({ id, outcome }) => [id, outcome])).toEqual([[broken.id, 'broken']]);
    const breach = findings[0]?.breach;
    expect(breach && { sequence: formatSequence(breach.sequence), again: breach.again }).toEqual({
      sequence: broken.shortest,
      again: true,
    });
  });

  test.for(rows)('holds without the fault: $id without $fault', async (whole) => {
    const { findings, notes } = await check(whole, []);
    expect({ findings, notes }).toMatchObject({
      findings: [{ id: whole.id, outcome: 'holds' }],
      notes: [],
    });
  });

  test('has a fault that breaks it', () => {
    const shown = new Set(rows.map(({ id }) => id));
    expect(invariants.map(({ id }) => id).filter((id) => !shown.has(id))).toEqual([]);
  });
});

function moves(text: string): MoveSequence {
  const read = parseSequence(text);
  if ('unknown' in read) throw new Error(`Unknown move ${read.unknown}`);
  return read.moves;
}
