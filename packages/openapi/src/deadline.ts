/** Time limits that survive garbage collection. */

/**
 * Runs work that has to end within a time, or with its caller. The timer holds the signal: Node 20 holds the parts of
 * `AbortSignal.any` weakly, so that a collected `AbortSignal.timeout` never fires.
 *
 * @param ms the limit, milliseconds
 * @param parent aborts the work, too
 */
export async function withinDeadline<T>(
  ms: number,
  parent: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error(`no answer within ${ms} ms`)), ms);
  const cancel = () => controller.abort(parent?.reason);
  if (parent?.aborted) cancel();
  parent?.addEventListener('abort', cancel, { once: true });
  try {
    return await run(controller.signal);
  } finally {
    clearTimeout(timer);
    parent?.removeEventListener('abort', cancel);
  }
}
