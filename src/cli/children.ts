/** The processes that this one has started. */
import { setTimeout as delay } from 'node:timers/promises';

/** How long the end of the process waits for children that were killed, milliseconds. */
const longestWaitMs = 250;
const stepMs = 5;

/**
 * Resolves once no child process is left, or after a quarter of a second.
 *
 * Calls that outlast the drain time are aborted, and what they run is killed; a process that ended before it had heard of their
 * deaths would leave zombies behind, and the first process of many containers never collects them.
 */
export async function childrenGone(): Promise<void> {
  for (let waited = 0; waited < longestWaitMs && hasChildren(); waited += stepMs) {
    await delay(stepMs);
  }
}

/** Whoever started them holds their handles; Node alone knows them all. */
function hasChildren(): boolean {
  return process.getActiveResourcesInfo().includes('ProcessWrap');
}
