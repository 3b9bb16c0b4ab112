/**
 * Adds the caller's frames to the stack of an error. The runtime creates the error where it notices
 * an answer, a timeout or a disconnect, so the stack shows only the event loop. V8 knows the
 * awaiting functions while a reaction to the promise runs, so the frames are captured there, after
 * the call has failed. A successful call pays nothing.
 *
 * @see https://v8.dev/docs/stack-trace-api
 */
import { ProtocolError, RuntimeError } from '../protocol/errors.ts';

/** Frames kept from the error's own stack; the rest belong to the event loop. */
const noticedFrames = 4;

/** A V8 API that other engines have adopted. */
interface StackCapture {
  captureStackTrace?(target: object, from: (error: unknown) => unknown): void;
}

const frame = /^\s+at /;
const awaitingFrame = /^\s+at async /;
const engineFrame = /\bnode:internal\//;

/**
 * Appends the frames of the awaiting functions to an error's stack. Call it in a reaction to the
 * failing promise, or in an async function after an `await`. Engines without async stack traces
 * leave the stack unchanged.
 */
export function addCallerFrames<E>(error: E): E {
  if (!(error instanceof Error)) return error;
  const callers = framesHere();
  if (callers.length === 0) return error;
  const { message, cause } = error;
  Reflect.set(
    error,
    'stack',
    [`${error.name}: ${message}`, ...ownFrames(error, callers), ...callers].join('\n'),
  );
  if (cause instanceof RuntimeError && message.includes(cause.message)) {
    // Node prints the cause too, so the cause keeps one line.
    const [firstLine = ''] = cause.message.split('\n');
    Reflect.set(
      cause,
      'stack',
      [`${cause.name}: ${firstLine.slice(0, 200)}`, ...ownFrames(cause).slice(0, 1)].join('\n'),
    );
  }
  return error;
}

/** Frames of the functions that await the running code. */
function framesHere(): string[] {
  const here = { stack: '' };
  (Error as StackCapture).captureStackTrace?.(here, addCallerFrames);
  const [, ...callers] = here.stack.split('\n').filter((line) => frame.test(line));
  return callers.filter((line) => !engineFrame.test(line));
}

/**
 * Frames of the place where the error was created. Lines of the message may look like frames, so it
 * is skipped.
 */
function ownFrames({ stack = '', message }: Error, others: readonly string[] = []): string[] {
  const at = stack.indexOf(message);
  const lines = stack.slice(at === -1 ? 0 : at + message.length).split('\n');
  const own = lines.filter(
    (line) => frame.test(line) && !awaitingFrame.test(line) && !others.includes(line),
  );
  return own.slice(0, noticedFrames);
}

/** Like {@link addCallerFrames}, as a rejection handler. */
export function throwWithCallerFrames(error: unknown): never {
  throw addCallerFrames(error);
}

/**
 * A thenable that rejects with the error, after adding the frames of the functions that await the
 * promise resolved with it.
 */
export function rejectedWithCallerFrames(error: unknown): PromiseLike<never> {
  return {
    // oxlint-disable-next-line unicorn/no-thenable -- a promise here would be rejected before the caller's waits for it
    then: (resolve, reject) =>
      Promise.reject(error as Error)
        .catch(throwWithCallerFrames)
        .then(resolve, reject),
  };
}

/** Copies an error, so that each of several callers gets its own stack. */
export function copyError(error: unknown): unknown {
  let copy: Error;
  if (error instanceof RuntimeError) copy = new RuntimeError(error.code, error.message, error);
  else if (error instanceof ProtocolError)
    copy = new ProtocolError(error.code, error.message, error.data);
  else return error;
  Reflect.set(copy, 'stack', error.stack);
  return copy;
}
