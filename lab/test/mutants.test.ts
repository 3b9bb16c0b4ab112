import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { faultsOfWorker } from '../mutate/faults.ts';
import { Journal, rangesOf } from '../mutate/journal.ts';
import { mutantsOf, withFaults } from '../mutate/mutants.ts';
import { judgesOf, turnsOf } from '../mutate/turns.ts';
import type { Turns } from '../mutate/turns.ts';

const source = `import { tell } from './tell.ts';

export function check(length: number, { isOpen = true }: Options): Checked {
  if (length > 16) return { ok: false };
  tell('checked');
  for (let at = 0; at < length; at++) if (isOdd(at) === isOpen) return { ok: at };
  return { ok: !isOpen && length < 8, isOpen };
}
`;

test('mutantsOf breaks each condition, operator, literal, effect and member, one at a time', () => {
  expect(mutantsOf('check.ts', source).map(({ line, what }) => `${line}: ${what}`)).toEqual([
    '3: true → false',
    '4: length > 16 → true',
    '4: length > 16 → false',
    '4: > → >=, length > 16',
    '4: 16 → (16 + 1)',
    '4: ok: false → ok: undefined',
    '4: false → true',
    "5: tell('checked'); → nothing",
    '6: 0 → (0 + 1)',
    '6: at < length → false',
    '6: < → <=, at < length',
    '6: isOdd(at) === isOpen → true',
    '6: isOdd(at) === isOpen → false',
    '6: ok: at → ok: undefined',
    '7: ok: !isOpen && length < 8 → ok: undefined',
    '7: && → ||, !isOpen && length < 8',
    '7: !isOpen without !',
    '7: < → <=, length < 8',
    '7: 8 → (8 + 1)',
    '7: isOpen → isOpen: undefined',
  ]);
});

const plain = `
  const told = [];
  const tell = (what) => void told.push(what);
  const check = (length, isOpen) => {
    if (length > 16) return { told, ok: false };
    tell('checked');
    return { told, ok: !isOpen && length < 8, size: Math.min(length ?? 9, 4) };
  };
  return JSON.stringify(check(length, isOpen));
`;

/** Result of the code with one active fault. */
function given(fault: number, length: number | undefined, isOpen: boolean): string {
  const text = withFaults('plain.ts', `const run = (length, isOpen) => {${plain}};`, 100);
  const faults = faultsOfWorker();
  faults.awake = fault;
  try {
    // oxlint-disable-next-line typescript/no-implied-eval, typescript/no-unsafe-call -- It is what is tested.
    return new Function('faults$', `${text}; return run(${length}, ${isOpen});`)(faults) as string;
  } finally {
    faults.awake = -1;
  }
}

test('a module with inactive faults behaves like the original', () => {
  expect(given(-1, 7, false)).toBe('{"told":["checked"],"ok":true,"size":4}');
  expect(given(-1, 17, false)).toBe('{"told":[],"ok":false}');
  expect(given(-1, undefined, true)).toBe('{"told":["checked"],"ok":false,"size":4}');
});

test('each fault does what its description says, and is recorded as reached', () => {
  const list = mutantsOf('plain.ts', `const run = (length, isOpen) => {${plain}};`);
  const numberOf = (what: string): number => 100 + list.findIndex((each) => each.what === what);
  const { reached } = faultsOfWorker();
  reached.clear();
  expect(given(numberOf('length > 16 → true'), 7, false)).toBe('{"told":[],"ok":false}');
  expect(given(numberOf('length > 16 → false'), 17, false)).toContain('"ok":false,"size":4');
  expect(given(numberOf('16 → (16 + 1)'), 17, false)).toContain('"size":4');
  expect(given(numberOf("tell('checked'); → nothing"), 7, false)).toContain('"told":[]');
  expect(given(numberOf('&& → ||, !isOpen && length < 8'), 9, false)).toContain('"ok":true');
  expect(given(numberOf('!isOpen without !'), 7, true)).toContain('"ok":true');
  expect(given(numberOf('< → <=, length < 8'), 8, false)).toContain('"ok":true');
  expect(given(numberOf('Math.min → Math.max'), 7, false)).toContain('"size":7');
  expect(given(numberOf('?? → &&, length ?? 9'), 7, false)).toContain('"size":4');
  expect(reached).toContain(numberOf('length > 16 → true'));
  reached.clear();
});

const lua = `const count = luaScript(\`
redis.call('PEXPIRE', KEYS[1], 5)
local most = math.min(1, 2)
while most < 2 do most = 2 end
if most < 2 then return 0 end
\`);`;

test('luaFaultsOf breaks a Redis script line by line without endless loops', () => {
  expect(mutantsOf('count.ts', lua).map(({ line, what }) => `${line}: ${what}`)).toEqual([
    "2: redis.call('PEXPIRE', KEYS[1], 5) → nothing",
    '3: math.min → math.max, local most = math.min(1, 2)',
    '5: most < 2 → true',
    '5: most < 2 → false',
    '5: < → <=, if most < 2 then return 0 end',
  ]);
  const faults = faultsOfWorker();
  const script = `${withFaults('count.ts', lua, 100)} return count;`;
  const luaScript = (text: string): unknown => ({ text, digest: 'as it is' });
  // oxlint-disable-next-line typescript/no-implied-eval, typescript/no-unsafe-call -- It is what is tested.
  const count = new Function('faults$', 'luaScript', script)(faults, luaScript) as {
    readonly text: string;
    readonly digest: string;
  };
  const plain = count.digest;
  expect(count.text).toContain("redis.call('PEXPIRE', KEYS[1], 5)");
  faults.awake = 100;
  expect(count.text).not.toContain('PEXPIRE');
  expect(count.digest).not.toBe(plain);
  faults.awake = 103;
  expect(count.text).toContain('if false then return 0 end');
  faults.awake = -1;
  faults.reached.clear();
});

/** A journal without faults. */
function emptyJournal(): Journal {
  const path = join(mkdtempSync(join(tmpdir(), 'journal-')), 'journal');
  writeFileSync(path, '');
  return new Journal(path);
}

test('Journal keeps results per fault and belongs to one state of the code', () => {
  const journal = emptyJournal();
  journal.begin('list');
  journal.write('reach', 12, 'a.test.ts > one', rangesOf([4, 5, 3, 9]));
  journal.write('killed', 3, 'a.test.ts > one', 'expected 1');
  journal.write('lived', 4, 'a.test.ts > one');

  const later = new Journal(journal.path);
  later.begin('list');
  expect(later.reaches.get('a.test.ts > one')).toEqual({ ms: 12, faults: new Set([3, 4, 5, 9]) });
  expect(later.isWanted(3, 'a.test.ts > two')).toBe(false);
  expect(later.isWanted(4, 'a.test.ts > one')).toBe(false);
  expect(later.isWanted(4, 'a.test.ts > two')).toBe(true);
  expect(() => new Journal(journal.path).begin('another list')).toThrow('code that has changed');
});

test('a fault is retried if its test failed without a fault afterwards', () => {
  const journal = emptyJournal();
  const notice = (): void => {
    journal.write('killed', 3, 'a.test.ts > one', 'expected 1');
    journal.write('doubt', 3, 'a.test.ts > one', 'expected 1');
  };
  notice();
  expect(journal.isWanted(3, 'a.test.ts > one')).toBe(true);
  expect(journal.doubtful).toContain('a.test.ts > one');
  notice();
  expect(journal.isWanted(3, 'a.test.ts > one')).toBe(false);
});

test('each fault is tried by all tests that reach it, fast and narrow ones first', () => {
  const journal = emptyJournal();
  journal.write('reach', 900, 'all.test.ts > slow', '0-99');
  journal.write('reach', 20, 'all.test.ts > fast', '0-99');
  journal.write('reach', 100, 'near.test.ts > near', '7-8');
  journal.write('reach', 1, 'near.test.ts > spoilt', '7-8');
  for (let times = 0; times < 3; times++) journal.write('spoilt', 0, 'near.test.ts > spoilt');

  const turns = (count: number, most = 40): Turns =>
    turnsOf(
      journal,
      [6, 7],
      judgesOf(journal, () => 'one.ts', most),
      count,
    );
  expect(turns(1)).toEqual({ 'all.test.ts > fast': [6], 'near.test.ts > near': [7] });
  journal.write('lived', 7, 'near.test.ts > near');
  journal.write('killed', 6, 'all.test.ts > fast', 'expected 1');
  expect(turns(1)).toEqual({ 'all.test.ts > fast': [7] });
  expect(turns(2)).toEqual({ 'all.test.ts > fast': [7], 'all.test.ts > slow': [7] });
  expect(turns(2, 1)).toEqual({ 'all.test.ts > fast': [7] });
  journal.write('lived', 7, 'all.test.ts > fast');
  journal.write('lived', 7, 'all.test.ts > slow');
  expect(turns(2)).toEqual({});
});

test('judgesOf prefers tests that noticed other faults of the module', () => {
  const journal = emptyJournal();
  journal.write('reach', 10, 'near.test.ts > near', '0-9');
  journal.write('reach', 40, 'far.test.ts > one', '0-9');
  journal.write('reach', 41, 'far.test.ts > another', '0-9');
  const moduleOf = (fault: number): string => (fault < 5 ? 'one.ts' : 'another.ts');
  const judges = (fault: number): readonly string[] => judgesOf(journal, moduleOf, 40)(fault);
  expect(judges(1)).toEqual(['near.test.ts > near', 'far.test.ts > one', 'far.test.ts > another']);
  journal.write('killed', 0, 'far.test.ts > another', 'expected 1');
  expect(judges(1)).toEqual(['far.test.ts > another', 'far.test.ts > one', 'near.test.ts > near']);
  expect(judges(6)).toEqual(['near.test.ts > near', 'far.test.ts > one', 'far.test.ts > another']);
});
