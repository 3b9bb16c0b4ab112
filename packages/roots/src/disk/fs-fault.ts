/** What the file system's errors mean to a person or a model. */

export type FsFaultCode =
  | 'NOT_FOUND'
  | 'NOT_A_DIRECTORY'
  | 'IS_A_DIRECTORY'
  | 'LOOP'
  | 'NAME_TOO_LONG'
  | 'TIMED_OUT'
  | 'INACCESSIBLE';

export interface FsFault {
  readonly code: FsFaultCode;
  /** Completes a sentence that begins with the path. */
  readonly phrase: string;
}

/**
 * The code of an error that Node or the system gives (`ENOENT`, `ERR_INVALID_URL`); undefined for any
 * other error.
 */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' && /^E[A-Z0-9_]+$/.test(code) ? code : undefined;
}

/**
 * Translates an error of `node:fs`. Total: what is not known is `INACCESSIBLE`, with the system's
 * code.
 */
export function fsFault(error: unknown): FsFault {
  const code = systemCode(error);
  switch (code) {
    case 'ENOENT':
      return { code: 'NOT_FOUND', phrase: 'does not exist' };
    case 'ENOTDIR':
      return { code: 'NOT_A_DIRECTORY', phrase: 'leads through a file that is not a directory' };
    case 'EISDIR':
      return { code: 'IS_A_DIRECTORY', phrase: 'is a directory' };
    case 'ELOOP':
      return { code: 'LOOP', phrase: 'leads through a loop of symbolic links' };
    case 'ENAMETOOLONG':
      return { code: 'NAME_TOO_LONG', phrase: 'is longer than the system allows' };
    case 'ETIMEDOUT':
      return {
        code: 'TIMED_OUT',
        phrase:
          'does not answer: its file system hangs, as a network mount does whose server is gone',
      };
    case 'EACCES':
    case 'EPERM':
      return { code: 'INACCESSIBLE', phrase: 'may not be read by this process' };
    default:
      return { code: 'INACCESSIBLE', phrase: `cannot be read (${code ?? 'unknown error'})` };
  }
}
