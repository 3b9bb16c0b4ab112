/** The sequences that are played: walks through the client's machine, chosen so that little is left out. */
import { initialTransition, transition } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { clientMachine } from './client.machine.ts';
import type { ClientFeatures } from './client.machine.ts';
import { isImpolite, plainMoves, sequenceText } from './move.ts';
import type { Move, MoveType, Sequence } from './move.ts';
import type { Random } from './random.ts';

type Client = SnapshotFrom<typeof clientMachine>;

const wait: Move = { type: 'wait' };

/** Every move that the machine knows, for these tools. */
function movesFor(tools: readonly string[]): readonly Move[] {
  const plain = (Object.keys(plainMoves) as (keyof typeof plainMoves)[]).map((type) => ({ type }));
  const calls = tools.flatMap((tool): Move[] => [
    { type: 'call', tool },
    { type: 'call-zero', tool },
  ]);
  return [...plain, ...calls];
}

/** Whether a client may make these moves in this order. It may wait at any time. */
export function isWalk(sequence: Sequence, features: ClientFeatures): boolean {
  let [client] = initialTransition(clientMachine, features);
  for (const move of sequence) {
    if (move.type === 'wait') continue;
    if (!client.can(move)) return false;
    [client] = transition(clientMachine, client, move);
  }
  return true;
}

/**
 * Every transition that changes the client's state, from every state that there is, by the shortest way to it; every other move once.
 * Of several tools the first one stands for all; each other is called once, and cancelled and answered late where the server cancels
 * requests of its own.
 * Each comes in two paces: the server is waited for after each move, and everything after the handshake in one chunk. Shortest first.
 */
export function coveringSequences(features: ClientFeatures): readonly Sequence[] {
  const moves = movesFor(features.tools);
  const enabled = (client: Client) => moves.filter((move) => client.can(move));
  const isMain = (move: Move) => !('tool' in move) || move.tool === features.tools[0];
  const paths = getShortestPaths(clientMachine, {
    input: features,
    events: (client) => enabled(client).filter(isMain),
    serializeState: ({ value }) => JSON.stringify(value),
    serializeEvent: sequenceOfOne,
  });
  const seen = new Set<string>();
  const sequences: Sequence[] = [];
  for (const { state, steps } of [...paths].sort((a, b) => a.steps.length - b.steps.length)) {
    const way = steps.map(({ event }) => event).filter(({ type }) => Object.hasOwn(known, type));
    for (const move of enabled(state)) {
      const [next] = transition(clientMachine, state, move);
      const changes = JSON.stringify(next.value) !== JSON.stringify(state.value);
      const isOther = 'tool' in move && move.tool !== features.tools[0];
      if (!changes || isOther) {
        if (seen.has(sequenceOfOne(move))) continue;
        seen.add(sequenceOfOne(move));
      }
      sequences.push(paced([...way, move]));
      if (isOther && features.withdraws && move.type === 'call') {
        sequences.push(paced([...way, move, { type: 'cancel' }, { type: 'answer-late' }]));
      }
      if (changes || isImpolite(move)) sequences.push(together([...way, move]));
    }
  }
  return withoutPrefixes(sequences);
}

/** Random walks; each waits for the server after about every second move. */
export function randomWalks(
  features: ClientFeatures,
  count: number,
  random: Random,
  without: ReadonlySet<MoveType> = new Set(),
): readonly Sequence[] {
  const moves = movesFor(features.tools).filter(({ type }) => !without.has(type));
  const [start] = initialTransition(clientMachine, features);
  return Array.from({ length: count }, () => {
    const sequence: Move[] = [];
    let client: Client = start;
    for (let left = 3 + random(12); left > 0; left--) {
      const choices = moves.filter((move) => client.can(move));
      // The end comes by itself; a walk that ends at once says little.
      const going = choices.filter(({ type }) => type !== 'end' || left < 3);
      const move = going[random(going.length)];
      if (!move) break;
      sequence.push(move);
      [client] = transition(clientMachine, client, move);
      if (greets(move) || (sequence.some(greets) && random(2) === 0)) sequence.push(wait);
    }
    return sequence;
  });
}

const known: { readonly [type: string]: string } = { ...plainMoves, call: '', 'call-zero': '' };

function sequenceOfOne(move: Move): string {
  return sequenceText([move]);
}

function greets({ type }: Move): boolean {
  return type.startsWith('initialize-') || type === 'initialize' || type === 'rush';
}

function paced(moves: Sequence): Sequence {
  const first = moves.findIndex(greets);
  return moves.flatMap((move, at) =>
    first !== -1 && at >= first && move.type !== 'end' ? [move, wait] : [move],
  );
}

function together(moves: Sequence): Sequence {
  return moves.flatMap((move) => (greets(move) ? [move, wait] : [move]));
}

/** A sequence that another one begins with is played with that one. Shortest first, then in the order of making. */
function withoutPrefixes(sequences: readonly Sequence[]): readonly Sequence[] {
  const texts = new Map(sequences.map((sequence) => [sequenceText(sequence), sequence]));
  const begun = [...texts.keys()];
  return [...texts]
    .filter(([text]) => !begun.some((other) => other.startsWith(`${text} `)))
    .map(([, sequence]) => sequence)
    .sort((a, b) => a.length - b.length);
}
