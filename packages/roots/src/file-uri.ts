/**
 * From a `file:` URI, as clients really send it, to a path.
 *
 * @see MCP 2025-11-25, client/roots, "Root"; RFC 8089
 */
import { fileURLToPath } from 'node:url';
import { inspectValue } from '../../../src/protocol/classify.ts';
import { systemCode } from './disk/fs-fault.ts';

/** Whose paths are meant: Windows forms are tested on every system. */
export interface PathStyle {
  /** By default that of the running system. */
  readonly windows?: boolean;
}

export type FileUriReading =
  | { readonly ok: true; readonly path: string }
  | {
      readonly ok: false;
      readonly code: 'NOT_A_FILE_URI' | 'UNPARSABLE';
      /** For a person: what was wrong, with what value. */
      readonly message: string;
    };

/**
 * `X:`, `X%3A` or `X|` behind `file:` and any number of slashes, at the end or before a separator.
 */
const driveForm = /^file:[\\/]*(?:localhost[\\/])?([a-z])(?::|%3a|\|)(?:[\\/]|%2f|%5c|$)/i;
/** `\\server\share` behind `file:` or `file://`, with either kind of slash. */
const uncForm = /^file:[\\/]{4,}(?=[^\\/])/i;

/**
 * Reads a `file:` URI into an absolute path without trailing separators. Never throws.
 *
 * Accepted beyond the correct forms: `file:///c%3A/…`, `file://H:\…`, `file://localhost/…`,
 * `file:////server/share`. Refused, because a guess could name another directory: an empty path, a
 * relative one, a query or a fragment (a name that was not encoded), an encoded separator or NUL, a
 * host on POSIX.
 */
export function readFileUri(uri: string, style: PathStyle = {}): FileUriReading {
  const windows = style.windows ?? process.platform === 'win32';
  const given = uri.trim();
  if (!/^file:/i.test(given)) {
    return {
      ok: false,
      code: 'NOT_A_FILE_URI',
      message: `${inspectValue(uri)} is not a file: URI`,
    };
  }
  const fault = faultOf(given);
  if (fault !== undefined) return unparsable(uri, fault);
  try {
    const path = fileURLToPath(new URL(normalize(given, windows)), { windows });
    if (path.includes('\0')) return unparsable(uri, 'contains a NUL character');
    return { ok: true, path: withoutTrailingSeparators(path, windows) };
  } catch (error) {
    return unparsable(uri, parserFault(error));
  }
}

function unparsable(uri: string, fault: string): FileUriReading {
  return {
    ok: false,
    code: 'UNPARSABLE',
    message: `${inspectValue(uri)} is not a usable path: ${fault}`,
  };
}

function parserFault(error: unknown): string {
  if (error instanceof URIError) return 'its percent-encoding is broken or no UTF-8';
  switch (systemCode(error)) {
    case 'ERR_INVALID_FILE_URL_HOST':
      return 'it names another host';
    case 'ERR_INVALID_FILE_URL_PATH':
      return 'it has no drive letter, or an encoded separator';
    default:
      return 'it is not a valid URI';
  }
}

function faultOf(uri: string): string | undefined {
  if (/^file:[\\/]{0,2}(?:localhost)?$/i.test(uri)) return 'the path is empty';
  if (/^file:(?![\\/])/i.test(uri) && !driveForm.test(uri)) return 'the path is relative';
  if (uri.includes('?')) return "it has a query; a '?' in a name is written %3F";
  if (uri.includes('#')) return "it has a fragment; a '#' in a name is written %23";
  return undefined;
}

/** Undoes what clients get wrong, and what the WHATWG parser would change in silence. */
function normalize(uri: string, windows: boolean): string {
  // The parser drops tabs and line breaks wherever they are; in a name they are characters.
  const kept = uri.replace(/[\t\n\r]/g, (character) => encodeURIComponent(character));
  const drive = driveForm.exec(kept);
  if (drive !== null) {
    const rest = kept.slice(drive[0].length);
    return `file:///${drive[1]}:/${windows ? decodeSeparators(rest) : rest.replaceAll('\\', '/')}`;
  }
  if (windows) return kept.replace(uncForm, 'file://');
  // The parser takes a backslash for a slash; on POSIX it is a character like any other.
  return kept.replaceAll('\\', '%5C');
}

/** On Windows no name contains a separator, so that an encoded one can only be one. */
function decodeSeparators(path: string): string {
  return path.replace(/\\|%5c|%2f/gi, '/');
}

function withoutTrailingSeparators(path: string, windows: boolean): string {
  const trimmed = path.replace(windows ? /[\\/]+$/ : /\/+$/, '');
  if (trimmed === '') return '/';
  return windows && /^[a-z]:$/i.test(trimmed) ? `${trimmed}\\` : trimmed;
}
