/** What the nodes and the clients of a storm of tasks have done and seen, and what of it must not be. */
import { History } from '../history.ts';

/** What a node tells of a task. Times are those of the machine, milliseconds. */
export interface TaskLine {
  /** `grant`: it has the task from now on. `run` and `ran`: its handler begins, and has returned. */
  readonly op: 'grant' | 'append' | 'finish' | 'run' | 'ran' | 'signal' | 'effect';
  readonly taskId: string;
  readonly fence?: number | undefined;
  /** The keys of its steps. */
  readonly keys?: readonly string[];
  readonly became?: string;
  /** Set if it gives the task up. */
  readonly parks?: true;
  /** When it was sent, or the run began. */
  readonly from: number;
  /** When it was answered, or this happened. */
  readonly to: number;
}

/** What a process has told. */
export interface ToldBy {
  readonly node: string;
  readonly lines: readonly TaskLine[];
  /** Whether it lives to the end. */
  readonly lives: boolean;
}

interface Seen {
  readonly status: string;
  readonly result: string;
}

function groupedBy<T, K>(all: readonly T[], keyOf: (each: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const each of all) groups.set(keyOf(each), [...(groups.get(keyOf(each)) ?? []), each]);
  return groups;
}

const finals: readonly string[] = ['completed', 'failed', 'cancelled'];

/** Whether a status is final. */
export const isFinal = (status: string): boolean => finals.includes(status);

/** The tasks whose ids a client has, and how they have ended as far as anybody has seen. */
export class TaskHistory extends History {
  readonly ended = new Map<string, Seen>();
  readonly accepted = new Set<string>();

  /** A task is looked at: give what this gives what was seen. */
  look(node: string, taskId: string): (seen: Seen | undefined) => void {
    // What is seen later is held against what was known before the question.
    const before = this.ended.get(taskId);
    return (seen) => {
      this.write(`${node} says ${taskId} ${seen?.status ?? 'is not there'} ${seen?.result ?? ''}`);
      if (!seen) return this.accuse(`${node} does not know ${taskId}, which was accepted`);
      if (before && (before.status !== seen.status || before.result !== seen.result)) {
        const was = `${before.status} ${before.result}`;
        this.accuse(`${taskId} was ${was}, and ${node} says ${seen.status} ${seen.result}`);
      }
      if (isFinal(seen.status) && !before) this.ended.set(taskId, seen);
    };
  }

  /** Holds what the nodes have told against what the docs promise. */
  judge(told: readonly ToldBy[]): void {
    const all = told.flatMap(({ node, lines, lives }) =>
      lines.map((line) => ({ ...line, node, lives })),
    );
    const tasks = groupedBy(all, ({ taskId }) => taskId);
    for (const [taskId, lines] of tasks) {
      const before = this.violations.length;
      this.#judgeOwners(taskId, lines);
      this.#judgeEnds(taskId, lines);
      this.#judgeEffects(taskId, lines);
      this.#judgeSignals(taskId, lines);
      if (this.violations.length === before) continue;
      const inOrder = lines.toSorted((a, b) => a.to - b.to).map((line) => JSON.stringify(line));
      this.quote(taskId, inOrder.join('\n'));
    }
  }

  #judgeOwners(taskId: string, lines: readonly NodeLine[]): void {
    const grants = lines.filter(({ op }) => op === 'grant');
    for (const [fence, owners] of groupedBy(grants, (grant) => grant.fence)) {
      if (owners.length === 1) continue;
      const names = owners.map(({ node }) => node).join(' and ');
      this.accuse(`${taskId} was given to ${names} with the fence ${fence}`);
    }
    const writes = lines.filter(({ became, fence }) => became === 'written' && fence !== undefined);
    for (const write of writes) {
      const later = grants.find(
        ({ fence = 0, to }) => fence > (write.fence ?? 0) && to < write.from,
      );
      if (!later) continue;
      const what = `${write.op} of ${write.node} with the fence ${write.fence}`;
      this.accuse(`${taskId}: ${what} was written after ${later.node} had ${later.fence}`);
    }
  }

  #judgeEnds(taskId: string, lines: readonly NodeLine[]): void {
    const writes = lines.filter(({ became }) => became === 'written');
    const ends = writes.filter(({ op }) => op === 'finish');
    if (ends.length > 1) this.accuse(`${taskId} has ended ${ends.length} times`);
    for (const end of ends) {
      const after = writes.find(({ from }) => from > end.to);
      if (after) this.accuse(`${taskId}: ${after.op} of ${after.node} was written after its end`);
    }
  }

  /** Nothing is made again once it is written that it was made. */
  #judgeEffects(taskId: string, lines: readonly NodeLine[]): void {
    const written = lines.filter(({ op, became }) => op === 'append' && became === 'written');
    for (const effect of lines.filter(({ op }) => op === 'effect')) {
      const [key = ''] = effect.keys ?? [];
      const before = written.find(({ keys, to }) => keys?.includes(key) && to < effect.from);
      if (before) this.accuse(`${taskId}: ${effect.node} has made ${key} after it was written`);
    }
  }

  /** Whoever runs a task, and is told that it has lost it, hears the signal. */
  #judgeSignals(taskId: string, all: readonly NodeLine[]): void {
    for (const lost of all.filter(({ became, lives }) => became === 'fenced' && lives)) {
      const { node } = lost;
      const lines = all.filter((line) => line.node === node);
      const run = lines.findLast(({ op, from }) => op === 'run' && from < lost.from);
      const isOver = lines.some(({ op, parks, became, to }) => {
        if (!run || to < run.from) return false;
        return op === 'signal' || op === 'ran' || (parks === true && became === 'written');
      });
      if (run && !isOver) this.accuse(`${taskId}: ${node} has lost it, and no signal has fired`);
    }
  }
}

interface NodeLine extends TaskLine {
  readonly node: string;
  readonly lives: boolean;
}
