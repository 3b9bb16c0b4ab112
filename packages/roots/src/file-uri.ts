/**
 * Converts `file:` URIs, including the malformed ones that clients send, to paths.
 *
 * @see MCP 2025-11-25, client/roots, "Root"; RFC 8089
 */
import { fileURLToPath } from 'node:url';
import { inspectValue } from '../../../src/protocol/classify.ts';
import { systemCode } from './disk/fs-error.ts';

/** Path syntax. Tests use both on every system. */
export interface PathStyle {
  /** True for Windows paths. Default: the running system. */
  readonly windows?: boolean;
}

export type FileUriReading =
  | { readonly ok: true; readonly path: string }
  | {
      readonly ok: false;
      readonly code: 'NOT_A_FILE_URI' | 'UNPARSABLE';
      /** Explanation for people, including the value. */
      readonly message: string;
    };

/**
 * Drive letter as `X:`, `X%3A` or `X|` after `file:` and any number of slashes, at the end or
 * before a separator.
 */
const driveForm = /^file:[\\/]*(?:localhost[\\/])?([a-z])(?::|%3a|\|)(?:[\\/]|%2f|%5c|$)/i;
/** UNC path: `\\server\share` after `file:` or `file://`, with either kind of slash. */
const uncForm = /^file:[\\/]{4,}(?=[^\\/])/i;

/**
 * Converts a `file:` URI to an absolute path without trailing separators. Never throws.
 *
 * Also accepts `file:///c%3A/…`, `file://H:\…`, `file://localhost/…` and `file:////server/share`.
 * Rejects forms that would require a guess at the directory: an empty or relative path, a query or
 * fragment (a name that was not encoded), an encoded separator or NUL, and a host on POSIX.
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
  const fault = findUriProblem(given);
  if (fault !== undefined) return unparsable(uri, fault);
  try {
    const path = fileURLToPath(new URL(normalize(given, windows)), { windows });
    if (path.includes('\0')) return unparsable(uri, 'contains a NUL character');
    return { ok: true, path: stripTrailingSeparators(path, windows) };
  } catch (error) {
    return unparsable(uri, explainParserError(error));
  }
}

function unparsable(uri: string, fault: string): FileUriReading {
  return {
    ok: false,
    code: 'UNPARSABLE',
    message: `${inspectValue(uri)} is not a usable path: ${fault}`,
  };
}

function explainParserError(error: unknown): string {
  if (error instanceof URIError) return 'its percent-encoding is not valid UTF-8';
  switch (systemCode(error)) {
    case 'ERR_INVALID_FILE_URL_HOST':
      return 'it names another host';
    case 'ERR_INVALID_FILE_URL_PATH':
      return 'it has no drive letter, or it contains an encoded separator';
    default:
      return 'it is not a valid URI';
  }
}

function findUriProblem(uri: string): string | undefined {
  if (/^file:[\\/]{0,2}(?:localhost)?$/i.test(uri)) return 'the path is empty';
  if (/^file:(?![\\/])/i.test(uri) && !driveForm.test(uri)) return 'the path is relative';
  if (uri.includes('?')) return "it has a query; encode a '?' in a name as %3F";
  if (uri.includes('#')) return "it has a fragment; encode a '#' in a name as %23";
  return undefined;
}

/**
 * Repairs known client mistakes, and escapes characters that the WHATWG parser would silently
 * change.
 */
function normalize(uri: string, windows: boolean): string {
  // The parser drops tabs and line breaks, but they are valid in file names.
  const kept = uri.replace(/[\t\n\r]/g, (character) => encodeURIComponent(character));
  const drive = driveForm.exec(kept);
  if (drive !== null) {
    const rest = kept.slice(drive[0].length);
    return `file:///${drive[1]}:/${windows ? decodeSeparators(rest) : rest.replaceAll('\\', '/')}`;
  }
  if (windows) return kept.replace(uncForm, 'file://');
  // The parser treats a backslash as a slash, but on POSIX it is an ordinary character.
  return kept.replaceAll('\\', '%5C');
}

/** A Windows file name cannot contain a separator, so an encoded one must be a separator. */
function decodeSeparators(path: string): string {
  return path.replace(/\\|%5c|%2f/gi, '/');
}

function stripTrailingSeparators(path: string, windows: boolean): string {
  const trimmed = path.replace(windows ? /[\\/]+$/ : /\/+$/, '');
  if (trimmed === '') return '/';
  return windows && /^[a-z]:$/i.test(trimmed) ? `${trimmed}\\` : trimmed;
}
