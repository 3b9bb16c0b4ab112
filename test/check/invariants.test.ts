import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkServer } from '../../src/check/check-server.ts';
import type { CheckReport } from '../../src/check/check-server.ts';
import { invariants } from '../../src/check/invariants/all.ts';
import { readSequence, sequenceText } from '../../src/check/move.ts';
import type { Sequence } from '../../src/check/move.ts';
import { makeRootsFolder } from '../../src/check/roots-folder.ts';
import type { RootsFolder } from '../../src/check/roots-folder.ts';
import { launchInside } from './launch-inside.ts';

const handshake = 'initialize wait initialized wait';

interface Row {
  readonly id: string;
  readonly fault: string;
  /** What is played. */
  readonly plays: string;
  /** The shortest sequence that shows it. */
  readonly shortest: string;
  readonly revision?: string;
}

const row = (id: string, fault: string, plays: string, shortest = '', revision?: string): Row => ({
  id,
  fault,
  plays,
  shortest,
  ...(revision ? { revision } : {}),
});

/** Where the fault is that nothing comes, or that what comes answers nothing. */
const silent: ReadonlySet<string> = new Set([
  'answered',
  'same-id',
  'batch',
  'rush',
  'last-roots-win',
]);

/** Each invariant with a fault that breaks it. */
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
  row(
    'batch',
    'ignores-batches',
    `${handshake} batch wait`,
    'initialize initialized batch',
    '2025-03-26',
  ),
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
  row('logging-declared', 'undeclared-logging logs', handshake, 'initialize'),
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
    `${handshake} call:slow wait`,
    'initialize initialized call:slow',
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
    `${handshake} roots-changed wait`,
    'initialize initialized roots-changed wait',
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
];

describe('each invariant', () => {
  let roots: RootsFolder;
  beforeAll(async () => {
    roots = await makeRootsFolder();
  });
  afterAll(() => roots.remove());

  const check = (row: Row): Promise<CheckReport> =>
    checkServer({
      launch: launchInside(row.fault.split(' ')),
      revision: row.revision ?? '2025-11-25',
      tools: new Map([
        ['slow', {}],
        ['roots', {}],
      ]),
      rootsUri: roots.uri,
      times: {
        startMs: row.id === 'ends' ? 300 : 5_000,
        answerMs: silent.has(row.id) ? 30 : 5_000,
        endMs: row.id === 'ends' ? 30 : 5_000,
        quietMs: 5,
      },
      seed: 1,
      walks: 0,
      jobs: 1,
      only: new Set([row.id]),
      sequences: [moves(row.plays)],
    });

  test.for(rows)('is seen to be broken: $id by $fault', async (broken) => {
    const { findings } = await check(broken);
    expect(findings.map(({ id, outcome }) => [id, outcome])).toEqual([[broken.id, 'broken']]);
    const breach = findings[0]?.breach;
    expect(breach && { sequence: sequenceText(breach.sequence), again: breach.again }).toEqual({
      sequence: broken.shortest,
      again: true,
    });
  });

  test('has a fault that breaks it, but for what needs time to be moved', () => {
    const shown = new Set(rows.map(({ id }) => id));
    expect(invariants.map(({ id }) => id).filter((id) => !shown.has(id))).toEqual([
      'late-answer-ignored',
    ]);
  });
});

function moves(text: string): Sequence {
  const read = readSequence(text);
  if ('unknown' in read) throw new Error(`There is no move ${read.unknown}`);
  return read.moves;
}
