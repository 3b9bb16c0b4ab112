/** Ends the process trees that nothing else ends when this process, their host, ends by itself. */
import type { EndSignal } from './platform.ts';

type EndTree = (signal: EndSignal) => void;

const trees = new Set<EndTree>();

const endAll = (): void => {
  for (const endTree of trees) endTree('SIGKILL');
};

/**
 * Ends a process tree when this process exits.
 *
 * @returns what is called once the tree is empty
 */
export function endWithHost(endTree: EndTree): () => void {
  if (trees.size === 0) process.on('exit', endAll);
  trees.add(endTree);
  return () => {
    trees.delete(endTree);
    if (trees.size === 0) process.off('exit', endAll);
  };
}
