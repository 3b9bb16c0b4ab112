/**
 * The stack of an error that a call fails with. The error is made where an answer, a timeout or a
 * loss is noticed, and nothing of the caller runs then: its own stack shows our loop alone. V8 knows
 * who awaits a promise while a reaction to that promise runs, so the caller is asked for there, once
 * the call has failed. A call that succeeds costs nothing.
 *
 * @see https://v8.dev/docs/stack-trace-api
 */
import { ProtocolError, RuntimeError } from '../protocol/errors.ts';

/** How many frames say where the failure was noticed; the rest of them are the loop around it. */
const noticedFrames = 4;

/** What V8 has, and others have taken over. */
interface StackCapture {
  captureStackTrace?(target: object, from: (error: unknown) => unknown): void;
}

const frame = /^\s+at /;
const awaitingFrame = /^\s+at async /;
const engineFrame = /\bnode:internal\//;

/**
 * Adds to the stack of an error the frames of those who await it. It has to run in a reaction to the
 * promise that fails, or in an async function after an `await`. An engine that does not know who
 * awaits leaves the stack as it is.
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
    // Node prints both.
    const [said = ''] = cause.message.split('\n');
    Reflect.set(
      cause,
      'stack',
      [`${cause.name}: ${said.slice(0, 200)}`, ...ownFrames(cause).slice(0, 1)].join('\n'),
    );
  }
  return error;
}

/** Those who await what runs now. */
function framesHere(): string[] {
  const here = { stack: '' };
  (Error as StackCapture).captureStackTrace?.(here, addCallerFrames);
  const [, ...callers] = here.stack.split('\n').filter((line) => frame.test(line));
  return callers.filter((line) => !engineFrame.test(line));
}

/** The frames that say where it was made. Lines of the message may look like frames. */
function ownFrames({ stack = '', message }: Error, others: readonly string[] = []): string[] {
  const at = stack.indexOf(message);
  const lines = stack.slice(at === -1 ? 0 : at + message.length).split('\n');
  const own = lines.filter(
    (line) => frame.test(line) && !awaitingFrame.test(line) && !others.includes(line),
  );
  return own.slice(0, noticedFrames);
}

/** As {@link addCallerFrames}, for the rejection handler of a promise that is given to the caller. */
export function throwWithCallerFrames(error: unknown): never {
  throw addCallerFrames(error);
}

/**
 * What a caller's promise is resolved with so that it fails with this error, and the error has the
 * frames of those who await the promise.
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

/** An error that several callers wait for, as the error of one of them. */
export function copyError(error: unknown): unknown {
  let copy: Error;
  if (error instanceof RuntimeError) copy = new RuntimeError(error.code, error.message, error);
  else if (error instanceof ProtocolError)
    copy = new ProtocolError(error.code, error.message, error.data);
  else return error;
  Reflect.set(copy, 'stack', error.stack);
  return copy;
}
