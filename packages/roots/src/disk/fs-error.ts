/** File-system errors, explained for people and models. */

export type FsFailureCode =
  | 'NOT_FOUND'
  | 'NOT_A_DIRECTORY'
  | 'IS_A_DIRECTORY'
  | 'LOOP'
  | 'NAME_TOO_LONG'
  | 'TIMED_OUT'
  | 'INACCESSIBLE';

export interface FsFailure {
  readonly code: FsFailureCode;
  /** Predicate for a sentence whose subject is the path. */
  readonly phrase: string;
}

/** Code of a Node or system error (`ENOENT`, `ERR_INVALID_URL`); undefined for other errors. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' && /^E[A-Z0-9_]+$/.test(code) ? code : undefined;
}

/**
 * Translates an error of `node:fs`. An unknown error becomes `INACCESSIBLE` with the system's code.
 */
export function describeFsError(error: unknown): FsFailure {
  const code = systemCode(error);
  switch (code) {
    case 'ENOENT':
      return { code: 'NOT_FOUND', phrase: 'does not exist' };
    case 'ENOTDIR':
      return { code: 'NOT_A_DIRECTORY', phrase: 'passes through a file, not a directory' };
    case 'EISDIR':
      return { code: 'IS_A_DIRECTORY', phrase: 'is a directory' };
    case 'ELOOP':
      return { code: 'LOOP', phrase: 'contains a loop of symbolic links' };
    case 'ENAMETOOLONG':
      return { code: 'NAME_TOO_LONG', phrase: 'is too long for the file system' };
    case 'ETIMEDOUT':
      return {
        code: 'TIMED_OUT',
        phrase:
          'did not answer: its file system hangs, as a network mount does when its server is gone',
      };
    case 'EACCES':
    case 'EPERM':
      return { code: 'INACCESSIBLE', phrase: 'cannot be read: permission denied' };
    default:
      return { code: 'INACCESSIBLE', phrase: `cannot be read (${code ?? 'unknown error'})` };
  }
}
