import { describe, expect, test } from 'vitest';
import { getShortestPaths } from 'xstate/graph';
import { clientMachine } from '../src/client.machine.ts';
import type { ClientFeatures } from '../src/client.machine.ts';
import { parseSequence, formatSequence } from '../src/move.ts';
import type { Move } from '../src/move.ts';
import { coveringSequences, isWalk, randomWalks, seededRandom, shrink } from '../src/sequences.ts';

const features: ClientFeatures = {
  tools: ['slow', 'quick'],
  asks: true,
  withdraws: true,
  declares: { tools: true, resources: true, prompts: true, logging: true },
  stateless: false,
  transport: 'stdio',
  batches: true,
  movesTime: true,
};
const nothing: ClientFeatures = {
  tools: [],
  asks: false,
  withdraws: false,
  declares: { tools: false, resources: false, prompts: false, logging: false },
  stateless: false,
  transport: 'stdio',
  batches: false,
  movesTime: false,
};

describe('generated sequences', () => {
  const covering = coveringSequences(features);
  const texts = covering.map(formatSequence);

  test('generates only walks of the client machine', () => {
    const walks = [...covering, ...randomWalks(features, 50, seededRandom(3))];
    expect(walks.filter((walk) => !isWalk(walk, features)).map(formatSequence)).toEqual([]);
  });

  test('reaches every state of the client', () => {
    const made = covering.flat().filter(({ type }) => type !== 'wait');
    const moves = [
      ...new Map(made.map((move): [string, Move] => [formatSequence([move]), move])).values(),
    ];
    const states = getShortestPaths(clientMachine, {
      input: features,
      events: (client) => moves.filter((move) => client.can(move)),
      serializeState: ({ value }) => JSON.stringify(value),
    });
    expect(states.length).toBeGreaterThan(30);
    expect(texts).toContain(
      'initialize wait initialized wait roots-changed wait answer-reversed wait',
    );
    expect(texts).toContain(
      'initialize-bare wait initialized wait call-zero:slow wait cancel wait',
    );
    expect(texts).toContain('initialize wait initialized call:slow cancel end');
  });

  test('answers late wherever a server may have cancelled its request', () => {
    const handshake = 'initialize wait initialized wait';
    for (const occasion of [
      'call:slow wait cancel wait',
      'roots-changed wait',
      'roots-changed wait answer wait',
      'pass-time wait',
    ]) {
      const late = `${handshake} ${occasion} answer-late wait`;
      expect(texts.some((text) => text === late || text.startsWith(`${late} `))).toBe(true);
    }
    // A tool other than the first may send requests.
    expect(texts).toContain(`${handshake} call:quick wait cancel wait answer-late wait`);
    const others = coveringSequences({ ...features, withdraws: false, movesTime: false });
    expect(others.flat().some(({ type }) => type === 'answer-late')).toBe(false);
  });

  test('orders sequences by length, without duplicates or prefixes of others', () => {
    const lengths = covering.map(({ length }) => length);
    expect(lengths).toEqual([...lengths].sort((a, b) => a - b));
    expect(new Set(texts).size).toBe(texts.length);
    expect(texts.filter((text) => texts.some((other) => other.startsWith(`${text} `)))).toEqual([]);
  });

  test('generates no move the server cannot be tested with', () => {
    const used = new Set(
      coveringSequences(nothing)
        .flat()
        .map(({ type }) => type),
    );
    const idle = [
      'call',
      'cancel',
      'answer',
      'pass-time',
      'list',
      'batch',
      'bad-resource',
    ] as const;
    expect(idle.filter((type) => used.has(type))).toEqual([]);
    expect(used.has('twins')).toBe(true);
  });

  test('generates the same walks for the same seed only', () => {
    const walks = (seed: number) =>
      randomWalks(features, 20, seededRandom(seed)).map(formatSequence);
    expect(walks(5)).toEqual(walks(5));
    expect(walks(5)).not.toEqual(walks(6));
  });

  test('omits excluded moves', () => {
    const walks = randomWalks(features, 40, seededRandom(1), new Set(['malformed']));
    expect(walks.flat().some(({ type }) => type === 'malformed')).toBe(false);
  });

  test('parses the sequences it formats', () => {
    for (const sequence of covering) {
      expect(parseSequence(formatSequence(sequence))).toEqual({ moves: sequence });
    }
    expect(parseSequence('initialize dance')).toEqual({ unknown: 'dance' });
    expect(parseSequence('call')).toEqual({ unknown: 'call' });
    expect(parseSequence('wait:x')).toEqual({ unknown: 'wait:x' });
  });
});

describe('shrink', () => {
  const letters = 'abcdefghij'.split('');
  const failsWith = (needed: string) => (part: readonly string[]) =>
    Promise.resolve([...needed].every((letter) => part.includes(letter)));

  test.for(['', 'a', 'j', 'ae', 'bcd', 'abcdefghij'])('keeps what fails: "%s"', async (needed) => {
    expect((await shrink(letters, failsWith(needed))).join('')).toBe(needed);
  });

  test('keeps the order', async () => {
    const inOrder = (part: readonly string[]) => Promise.resolve(/b.*h/.test(part.join('')));
    expect(await shrink(letters, inOrder)).toEqual(['b', 'h']);
  });

  test('removes elements that can only go after others', async () => {
    // "e" can be removed only after "c".
    const fails = (part: readonly string[]) =>
      Promise.resolve(part.includes('a') && (!part.includes('c') || part.includes('e')));
    expect(await shrink(letters, fails)).toEqual(['a']);
  });

  test('stops after a number of tries', async () => {
    let tries = 0;
    const fails = () => Promise.resolve(tries++ < 0);
    expect(await shrink(letters, fails, 5)).toEqual(letters);
    expect(tries).toBe(5);
  });
});
