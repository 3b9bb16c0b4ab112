/** The command was called wrongly: told to the caller on stderr, exit 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
