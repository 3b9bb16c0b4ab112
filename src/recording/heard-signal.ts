/** A signal that fires when another does, with somebody in between. */

/** @param hear gets the reason as text, and what makes the signal fire */
export function heardSignal(
  signal: AbortSignal | undefined,
  hear: (reason: string, abort: () => void) => void,
): AbortSignal | undefined {
  // One that has fired already stops the request before it is one.
  if (!signal || signal.aborted) return signal;
  const controller = new AbortController();
  signal.addEventListener(
    'abort',
    () => {
      const reason: unknown = signal.reason;
      hear(textOf(reason), () => controller.abort(reason));
    },
    { once: true },
  );
  return controller.signal;
}

/** What the client is told of a reason. */
function textOf(reason: unknown): string {
  if (typeof reason === 'string') return reason;
  return reason instanceof Error ? reason.message : 'cancelled';
}
