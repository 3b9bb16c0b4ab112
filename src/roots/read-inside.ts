/** Reading a whole file inside the roots boundary. */
import { ToolError } from '../protocol/errors.ts';
import { quoted } from '../protocol/printable.ts';
import type { Boundary } from '../workspace/roots/boundary.ts';
import { openInside } from '../workspace/roots/open-inside.ts';
import { readBytes } from '../workspace/text/read-text.ts';

/** How much may be read. */
export interface ReadInsideOptions {
  /** The most that is read, bytes; 1 MiB by default. */
  readonly maxBytes?: number;
}

const defaultMaxBytes = 1024 * 1024;

/**
 * Reads a regular file to its end.
 *
 * @param given a path relative to the boundary's base, an absolute one, or a `file:` URI
 * @throws {ToolError} TOO_LARGE if it has more than `maxBytes`, and what {@link openInside} throws
 */
export async function readInside(
  boundary: Boundary,
  given: string,
  { maxBytes = defaultMaxBytes }: ReadInsideOptions = {},
): Promise<Buffer> {
  const { handle } = await openInside(boundary, given);
  try {
    const bytes = await readBytes(handle, maxBytes);
    if (bytes !== undefined) return bytes;
    throw new ToolError(`${quoted(given)} has more than ${maxBytes} bytes`, { code: 'TOO_LARGE' });
  } finally {
    await handle.close();
  }
}
