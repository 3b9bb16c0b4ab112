const settled = Promise.resolve();

/**
 * Calls back once the code that is running has ended, before any timer or input: what
 * `queueMicrotask` does, without the resource that Node makes for each of its callbacks, which
 * costs more than an ordinary microtask. What the callback throws is an unhandled rejection: a bug,
 * as fatal to a process by default as an uncaught error.
 */
export function afterThis(callback: () => void): void {
  void settled.then(callback);
}
