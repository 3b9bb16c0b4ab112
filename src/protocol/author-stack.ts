/** Stacks of definition errors that begin in the author's code. */

/** The V8 function that sets `stack` to the frames above `below`. */
interface StackCapture {
  captureStackTrace?(error: Error, below: (...input: never) => unknown): void;
}

/**
 * Runs the body of `definer`. The first frame of an error's stack is then the caller of `definer`.
 *
 * @param definer function that authors call, such as `defineTool`
 */
export function withAuthorStack<T>(definer: (...input: never) => unknown, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) {
      (Error as StackCapture).captureStackTrace?.(error, definer);
    }
    throw error;
  }
}
