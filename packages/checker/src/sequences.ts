/** The sequences to play: walks through the client's machine, generated and shortened. */
import { initialTransition, transition } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { clientMachine } from './client.machine.ts';
import type { ClientFeatures } from './client.machine.ts';
import { modernClientMachine } from './modern-client.machine.ts';
import { isImpolite, plainMoves, sequenceText } from './move.ts';
import type { Move, MoveType, MoveSequence } from './move.ts';

type Client = SnapshotFrom<typeof clientMachine>;

/** The machine of the client that a server with these features is played. */
function machineFor({ stateless }: ClientFeatures): typeof clientMachine {
  // They take the same moves, and differ in their states alone.
  return stateless ? (modernClientMachine as unknown as typeof clientMachine) : clientMachine;
}

const wait: Move = { type: 'wait' };

/** Every move of the machine, for these tools. */
function movesFor(tools: readonly string[]): readonly Move[] {
  const plain = (Object.keys(plainMoves) as (keyof typeof plainMoves)[]).map((type) => ({ type }));
  const calls = tools.flatMap((tool): Move[] => [
    { type: 'call', tool },
    { type: 'call-zero', tool },
    { type: 'call-bare', tool },
  ]);
  return [...plain, ...calls];
}

/** Whether a client may make these moves in this order. It may wait at any time. */
export function isWalk(sequence: MoveSequence, features: ClientFeatures): boolean {
  const machine = machineFor(features);
  let [client] = initialTransition(machine, features);
  for (const move of sequence) {
    if (move.type === 'wait') continue;
    if (!client.can(move)) return false;
    [client] = transition(machine, client, move);
  }
  return true;
}

/**
 * Every transition that changes the client's state, from every state, by the shortest path to it;
 * every other move once. The first tool stands for all. Each other tool is called once and, if the
 * server cancels requests of its own, also cancelled and answered late; if tools ask by ending, it
 * is also retried. Each sequence comes at two paces: with a wait after each move, and with
 * everything after the handshake in one chunk. Shortest first.
 */
export function coveringSequences(features: ClientFeatures): readonly MoveSequence[] {
  const machine = machineFor(features);
  const moves = movesFor(features.tools);
  const enabled = (client: Client) => moves.filter((move) => client.can(move));
  const isMain = (move: Move) => !('tool' in move) || move.tool === features.tools[0];
  const paths = getShortestPaths(machine, {
    input: features,
    events: (client) => enabled(client).filter(isMain),
    serializeState: ({ value }) => JSON.stringify(value),
    serializeEvent: sequenceOfOne,
  });
  const seen = new Set<string>();
  const sequences: MoveSequence[] = [];
  for (const { state, steps } of [...paths].sort((a, b) => a.steps.length - b.steps.length)) {
    const way = steps.map(({ event }) => event).filter(({ type }) => Object.hasOwn(known, type));
    for (const move of enabled(state)) {
      const [next] = transition(machine, state, move);
      const changes = JSON.stringify(next.value) !== JSON.stringify(state.value);
      const isOther = 'tool' in move && move.tool !== features.tools[0];
      if (!changes || isOther) {
        if (seen.has(sequenceOfOne(move))) continue;
        seen.add(sequenceOfOne(move));
      }
      sequences.push(paced([...way, move], features));
      if (isOther && features.withdraws && move.type === 'call') {
        const late = [...way, move, { type: 'cancel' }, { type: 'answer-late' }] as const;
        sequences.push(paced(late, features));
      }
      if (isOther && features.stateless && features.asks && move.type === 'call') {
        sequences.push(paced([...way, move, { type: 'retry' }, { type: 'retry-twice' }], features));
        sequences.push(paced([...way, move, { type: 'retry-forged' }], features));
      }
      if (changes || isImpolite(move)) sequences.push(together([...way, move]));
    }
  }
  return withoutPrefixes([...sequences, ...rootsSequences(features), ...streamSequences(features)]);
}

/**
 * Changes while a query of the roots is unanswered, then answers. There are more of both than a
 * server needs queries that asks anew at `initialized` and for the first change.
 */
function rootsSequences(features: ClientFeatures): readonly MoveSequence[] {
  if (!features.asks || features.stateless) return [];
  const start: MoveSequence = [{ type: 'initialize' }, { type: 'initialized' }];
  const answer: Move = { type: 'answer' };
  const changes = Array<Move>(4).fill(changed);
  return [paced([...start, ...changes, answer, answer], features)];
}

/** Over HTTP: what the server says of itself while there are two streams, and streams resumed. */
function streamSequences(features: ClientFeatures): readonly MoveSequence[] {
  if (features.transport === 'stdio' || features.stateless) return [];
  const start: MoveSequence = [{ type: 'initialize' }, { type: 'initialized' }];
  const calls = features.tools.map((tool): Move => ({ type: 'call', tool }));
  return [
    [...start, { type: 'http-second-stream' }, ...(features.asks ? [changed] : [])],
    [...start, { type: 'http-second-stream' }, ...calls],
    [...start, ...(features.asks ? [changed] : []), ...calls, { type: 'http-resume' }],
  ].map((moves) => paced(moves as MoveSequence, features));
}

const changed: Move = { type: 'roots-changed' };

/** Gives whole numbers from 0 to below `bound`. */
export type Random = (bound: number) => number;

/**
 * The same seed gives the same numbers on every machine: mulberry32, good enough to choose moves.
 */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
}

/** Random walks. Each waits for the server after about every second move. */
export function randomWalks(
  features: ClientFeatures,
  count: number,
  random: Random,
  without: ReadonlySet<MoveType> = new Set(),
): readonly MoveSequence[] {
  const moves = movesFor(features.tools).filter(({ type }) => !without.has(type));
  const machine = machineFor(features);
  const [start] = initialTransition(machine, features);
  return Array.from({ length: count }, () => {
    const sequence: Move[] = [];
    let client: Client = start;
    for (let left = 3 + random(12); left > 0; left--) {
      const choices = moves.filter((move) => client.can(move));
      // A walk ends by itself; one that ends at once shows little.
      const going = choices.filter(({ type }) => type !== 'end' || left < 3);
      const move = going[random(going.length)];
      if (!move) break;
      sequence.push(move);
      [client] = transition(machine, client, move);
      const isUp = features.stateless || sequence.some(greets);
      if (greets(move) || (isUp && random(2) === 0)) sequence.push(wait);
    }
    return sequence;
  });
}

const known: { readonly [type: string]: string } = {
  ...plainMoves,
  call: '',
  'call-zero': '',
  'call-bare': '',
};

function sequenceOfOne(move: Move): string {
  return sequenceText([move]);
}

function greets({ type }: Move): boolean {
  return type.startsWith('initialize-') || type === 'initialize' || type === 'rush';
}

function paced(moves: MoveSequence, { stateless }: ClientFeatures): MoveSequence {
  const first = stateless ? 0 : moves.findIndex(greets);
  return moves.flatMap((move, at) =>
    first !== -1 && at >= first && move.type !== 'end' ? [move, wait] : [move],
  );
}

function together(moves: MoveSequence): MoveSequence {
  return moves.flatMap((move) => (greets(move) ? [move, wait] : [move]));
}

/** Drops each sequence that another one begins with. Shortest first, then in order of creation. */
function withoutPrefixes(sequences: readonly MoveSequence[]): readonly MoveSequence[] {
  const texts = new Map(sequences.map((sequence) => [sequenceText(sequence), sequence]));
  const begun = [...texts.keys()];
  return [...texts]
    .filter(([text]) => !begun.some((other) => other.startsWith(`${text} `)))
    .map(([, sequence]) => sequence)
    .sort((a, b) => a.length - b.length);
}

/**
 * Shortens a failing sequence until every element is needed. It leaves out halves first, then
 * quarters, and so on down to single elements.
 *
 * @param items the failing sequence
 * @param fails whether a part of it still fails; the order stays
 * @param limit how many parts to try at most
 */
export async function shrink<T>(
  items: readonly T[],
  fails: (part: readonly T[]) => Promise<boolean>,
  limit = Infinity,
): Promise<readonly T[]> {
  let best = items;
  let tried = 0;
  for (let size = Math.ceil(items.length / 2); size >= 1 && best.length > 0;) {
    let shorter: readonly T[] | undefined;
    for (let at = 0; at < best.length && tried < limit && !shorter; at += size) {
      const part = [...best.slice(0, at), ...best.slice(at + size)];
      tried++;
      if (await fails(part)) shorter = part;
    }
    if (tried >= limit && !shorter) return best;
    if (shorter) best = shorter;
    // Single elements are tried again until none can be left out.
    if (!shorter) size = size === 1 ? 0 : Math.ceil(size / 2);
    else size = Math.min(size, Math.max(1, Math.ceil(best.length / 2)));
  }
  return best;
}
