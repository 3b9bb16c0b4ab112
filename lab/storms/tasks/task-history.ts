/** Actions and observations of nodes and clients in a storm of tasks, and violations among them. */
import { History } from '../history.ts';

/** A node's report about a task. Times are the machine's, ms. */
export interface TaskLine {
  /** `grant`: the node now owns the task. `run` and `ran`: its handler starts and has returned. */
  readonly op: 'grant' | 'append' | 'finish' | 'run' | 'ran' | 'signal' | 'effect';
  readonly taskId: string;
  readonly fence?: number | undefined;
  /** Keys of its steps. */
  readonly keys?: readonly string[];
  readonly became?: string;
  /** Set if it unloads the task. */
  readonly parks?: true;
  /** Time of the request, or start of the run. */
  readonly from: number;
  /** Time of the response or event. */
  readonly to: number;
}

/** Reports of a process. */
export interface ToldBy {
  readonly node: string;
  readonly lines: readonly TaskLine[];
  /** True if it lives to the end. */
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

/** True for a final status. */
export const isFinal = (status: string): boolean => finals.includes(status);

/** Tasks whose ids a client has, and their observed ends. */
export class TaskHistory extends History {
  readonly ended = new Map<string, Seen>();
  readonly accepted = new Set<string>();

  /** Begins an observation of a task; call the returned function with the result. */
  look(node: string, taskId: string): (seen: Seen | undefined) => void {
    // Later observations are compared with what was known before the request.
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

  /** Compares the nodes' reports with the documented guarantees. */
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

  /** A completed step is never repeated once recorded. */
  #judgeEffects(taskId: string, lines: readonly NodeLine[]): void {
    const written = lines.filter(({ op, became }) => op === 'append' && became === 'written');
    for (const effect of lines.filter(({ op }) => op === 'effect')) {
      const [key = ''] = effect.keys ?? [];
      const before = written.find(({ keys, to }) => keys?.includes(key) && to < effect.from);
      if (before) this.accuse(`${taskId}: ${effect.node} has made ${key} after it was written`);
    }
  }

  /** A run that loses its task gets an aborted signal. */
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
