/** Kills process trees when this process, their host, exits by itself. */
import type { KillSignal } from './platform.ts';

type EndTree = (signal: KillSignal) => void;

const trees = new Set<EndTree>();

const endAll = (): void => {
  for (const endTree of trees) endTree('SIGKILL');
};

/**
 * Registers a process tree to be killed when this process exits.
 *
 * @returns a function that unregisters the tree; call it once the tree is empty
 */
export function killOnExit(endTree: EndTree): () => void {
  if (trees.size === 0) process.on('exit', endAll);
  trees.add(endTree);
  return () => {
    trees.delete(endTree);
    if (trees.size === 0) process.off('exit', endAll);
  };
}
