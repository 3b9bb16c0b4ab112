/** Generates and shrinks sequences, which are walks through the client's machine. */
import { initialTransition, transition } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { clientMachine } from './client.machine.ts';
import type { ClientFeatures } from './client.machine.ts';
import { modernClientMachine } from './modern-client.machine.ts';
import { isImpolite, plainMoves, formatSequence } from './move.ts';
import type { Move, MoveType, MoveSequence } from './move.ts';

type Client = SnapshotFrom<typeof clientMachine>;

/** The client machine for a server with these features. */
function machineFor({ stateless }: ClientFeatures): typeof clientMachine {
  // Both machines accept the same events and only differ in their states.
  return stateless ? (modernClientMachine as unknown as typeof clientMachine) : clientMachine;
}

const wait: Move = { type: 'wait' };

/** All moves of the machine for these tools. */
function movesFor(tools: readonly string[]): readonly Move[] {
  const plain = (Object.keys(plainMoves) as (keyof typeof plainMoves)[]).map((type) => ({ type }));
  const calls = tools.flatMap((tool): Move[] => [
    { type: 'call', tool },
    { type: 'call-zero', tool },
    { type: 'call-bare', tool },
  ]);
  return [...plain, ...calls];
}

/** True if a client may make these moves in this order. Waiting is always allowed. */
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
 * Generates sequences that cover every state-changing transition from every state, by the shortest
 * path, and every other move once. The first tool represents all. Every other tool is called once;
 * it is also cancelled and answered late if the server cancels requests, and retried if tools
 * request input. Each sequence comes at two paces: with a wait after each move, and with everything
 * after the handshake in one chunk. Shortest first.
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
      sequences.push(withWaits([...way, move], features));
      if (isOther && features.withdraws && move.type === 'call') {
        const late = [...way, move, { type: 'cancel' }, { type: 'answer-late' }] as const;
        sequences.push(withWaits(late, features));
      }
      if (isOther && features.stateless && features.asks && move.type === 'call') {
        sequences.push(
          withWaits([...way, move, { type: 'retry' }, { type: 'retry-twice' }], features),
        );
        sequences.push(withWaits([...way, move, { type: 'retry-forged' }], features));
      }
      if (changes || isImpolite(move)) sequences.push(inOneChunk([...way, move]));
    }
  }
  return omitPrefixes([...sequences, ...rootsSequences(features), ...streamSequences(features)]);
}

/**
 * Several changes while a roots query is unanswered, then answers: more of both than a server needs
 * that queries after `initialized` and after the first change.
 */
function rootsSequences(features: ClientFeatures): readonly MoveSequence[] {
  if (!features.asks || features.stateless) return [];
  const start: MoveSequence = [{ type: 'initialize' }, { type: 'initialized' }];
  const answer: Move = { type: 'answer' };
  const changes = Array<Move>(4).fill(changed);
  return [withWaits([...start, ...changes, answer, answer], features)];
}

/** HTTP sequences: server-initiated messages with two open streams, and resumed streams. */
function streamSequences(features: ClientFeatures): readonly MoveSequence[] {
  if (features.transport === 'stdio' || features.stateless) return [];
  const start: MoveSequence = [{ type: 'initialize' }, { type: 'initialized' }];
  const calls = features.tools.map((tool): Move => ({ type: 'call', tool }));
  return [
    [...start, { type: 'http-second-stream' }, ...(features.asks ? [changed] : [])],
    [...start, { type: 'http-second-stream' }, ...calls],
    [...start, ...(features.asks ? [changed] : []), ...calls, { type: 'http-resume' }],
  ].map((moves) => withWaits(moves as MoveSequence, features));
}

const changed: Move = { type: 'roots-changed' };

/** Returns an integer from 0 to `bound` - 1. */
export type Random = (bound: number) => number;

/** Seeded generator (mulberry32) with the same numbers on every machine. */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
}

/** Generates random walks that wait for the server after about every second move. */
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
      // Postpone `end`, because short walks test little.
      const going = choices.filter(({ type }) => type !== 'end' || left < 3);
      const move = going[random(going.length)];
      if (!move) break;
      sequence.push(move);
      [client] = transition(machine, client, move);
      const isUp = features.stateless || sequence.some(isHandshake);
      if (isHandshake(move) || (isUp && random(2) === 0)) sequence.push(wait);
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
  return formatSequence([move]);
}

function isHandshake({ type }: Move): boolean {
  return type.startsWith('initialize-') || type === 'initialize' || type === 'rush';
}

function withWaits(moves: MoveSequence, { stateless }: ClientFeatures): MoveSequence {
  const first = stateless ? 0 : moves.findIndex(isHandshake);
  return moves.flatMap((move, at) =>
    first !== -1 && at >= first && move.type !== 'end' ? [move, wait] : [move],
  );
}

function inOneChunk(moves: MoveSequence): MoveSequence {
  return moves.flatMap((move) => (isHandshake(move) ? [move, wait] : [move]));
}

/** Drops sequences that are a prefix of another. Shortest first, then in order of creation. */
function omitPrefixes(sequences: readonly MoveSequence[]): readonly MoveSequence[] {
  const texts = new Map(sequences.map((sequence) => [formatSequence(sequence), sequence]));
  const begun = [...texts.keys()];
  return [...texts]
    .filter(([text]) => !begun.some((other) => other.startsWith(`${text} `)))
    .map(([, sequence]) => sequence)
    .sort((a, b) => a.length - b.length);
}

/**
 * Shrinks a failing sequence until every element is necessary, removing halves first, then
 * quarters, down to single elements.
 *
 * @param items the failing sequence
 * @param fails true if a part, in the same order, still fails
 * @param limit maximum number of parts to try
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
    // Repeat single elements until none can be removed.
    if (!shorter) size = size === 1 ? 0 : Math.ceil(size / 2);
    else size = Math.min(size, Math.max(1, Math.ceil(best.length / 2)));
  }
  return best;
}
