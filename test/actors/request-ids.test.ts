import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RequestIds } from '../../src/actors/correlation/correlation.actor.ts';

describe('RequestIds of a host', () => {
  test('are integers counted from 1, and parse back to themselves', () => {
    const ids = new RequestIds('integers');
    const given = Array.from({ length: 3 }, () => ids.idOf(ids.next()));
    expect(given).toEqual([1, 2, 3]);
    expect(given.map((id) => ids.numberOf(id))).toEqual([1, 2, 3]);
  });

  test('parse nothing else', () => {
    const ids = new RequestIds('integers');
    ids.next();
    const others = ['1', 0, -1, 2, 1.5, NaN, Infinity, null, undefined, true, [1], 1n, 's-1'];
    for (const other of others) expect([other, ids.numberOf(other)]).toEqual([other, undefined]);
  });
});

describe('RequestIds of a server', () => {
  test('parse back to their numbers', () => {
    const ids = new RequestIds();
    const numbers = Array.from({ length: 1000 }, () => ids.next());
    expect(numbers.map((number) => ids.numberOf(ids.idOf(number)))).toEqual(numbers);
    expect(new Set(numbers.map((number) => ids.idOf(number))).size).toBe(1000);
  });

  test('do not parse ids not yet issued, or issued by another session', () => {
    const [ids, others] = [new RequestIds(), new RequestIds()];
    const number = ids.next();
    others.next();
    expect(ids.numberOf(ids.idOf(number + 1))).toBeUndefined();
    expect(ids.numberOf(ids.idOf(0))).toBeUndefined();
    expect(others.numberOf(ids.idOf(number))).toBeUndefined();
    expect(ids.idOf(number)).not.toBe(others.idOf(number));
  });

  test('do not parse similar text', () => {
    const ids = new RequestIds();
    for (let given = 0; given < 20; given++) ids.next();
    const id = String(ids.idOf(1));
    const end = id.slice('s-1'.length);
    const digits = ['01', '1.0', '1.5', '1e0', '0x1', '+1', '-1', ' 1', '1 ', '', '0', '21', 'NaN'];
    const texts = [
      ...digits.map((each) => `s-${each}${end}`),
      ...[
        `S-1${end}`,
        `xs-1${end}`,
        `s_1${end}`,
        `1${end}`,
        end,
        `${id} `,
        ` ${id}`,
        id.toUpperCase(),
      ],
      ...[`${id}${end}`, 's-1', '', '__proto__'],
    ];
    for (const text of texts) expect([text, ids.numberOf(text)]).toEqual([text, undefined]);
    for (const other of [1, undefined, null, {}, [id], true, 1n]) {
      expect(ids.numberOf(other)).toBeUndefined();
    }
  });

  test('do not parse an id with any change to its text', () => {
    const ids = new RequestIds();
    for (let given = 0; given < 9; given++) ids.next();
    const id = String(ids.idOf(7));
    fc.assert(
      fc.property(fc.nat({ max: id.length - 1 }), fc.string({ maxLength: 3 }), (at, text) => {
        const changed = id.slice(0, at) + text + id.slice(at + 1);
        const number = ids.numberOf(changed);
        // Changing a digit may yield the id of another request.
        expect(number === undefined || changed === ids.idOf(number)).toBe(true);
      }),
    );
  });
});
