/** Detects from a file's beginning whether it is text, and its encoding. */
import { isUtf8 } from 'node:buffer';

/**
 * `iso-8859-1` and `shift_jis` are guesses. `unknown-8bit` is any other text; bytes that are not
 * UTF-8 appear as U+FFFD.
 */
export type TextEncoding =
  | 'utf-8'
  | 'utf-8-bom'
  | 'utf-16le'
  | 'utf-16be'
  | 'shift_jis'
  | 'iso-8859-1'
  | 'unknown-8bit';

export type ContentKind = { readonly text: true; readonly encoding: TextEncoding } | BinaryContent;

export interface BinaryContent {
  readonly text: false;
  /** File format, if its signature is known. */
  readonly kind: string;
  /** Set for images and audio that hosts can show. */
  readonly mimeType?: `${'image' | 'audio'}/${string}`;
}

/** Number of bytes examined. */
export const sampleBytes = 64 * 1024;

/** Signatures in hexadecimal, `.` for any digit; the first match wins. */
const signatures: readonly (readonly [
  start: RegExp,
  kind: string,
  mimeType?: BinaryContent['mimeType'],
])[] = [
  [/^89504e470d0a1a0a/, 'PNG image', 'image/png'],
  [/^ffd8ff/, 'JPEG image', 'image/jpeg'],
  [/^47494638/, 'GIF image', 'image/gif'],
  [/^52494646........57454250/, 'WebP image', 'image/webp'],
  [/^52494646........57415645/, 'WAV audio', 'audio/wav'],
  [/^(?:494433|fff[23ab])/, 'MP3 audio', 'audio/mpeg'],
  [/^4f676753/, 'Ogg media', 'audio/ogg'],
  [/^664c6143/, 'FLAC audio', 'audio/flac'],
  [/^........667479704d3441/, 'M4A audio', 'audio/mp4'],
  [/^255044462d/, 'PDF document'],
  [/^504b0304/, 'ZIP archive (or a format built on it)'],
  [/^1f8b/, 'gzip archive'],
  [/^28b52ffd/, 'Zstandard archive'],
  [/^fd377a585a00/, 'XZ archive'],
  [/^425a68/, 'bzip2 archive'],
  [/^377abcaf271c/, '7-Zip archive'],
  [/^7f454c46/, 'ELF executable'],
  [/^cafebabe/, 'Java class or Mach-O universal binary'],
  [/^cffaedfe/, 'Mach-O executable'],
  [/^0061736d/, 'WebAssembly module'],
  [/^53514c69746520666f726d6174203300/, 'SQLite database'],
  [/^774f4632/, 'WOFF2 font'],
  [/^774f4646/, 'WOFF font'],
  [/^(?:fffe0000|0000feff)/, 'UTF-32 text'],
];

/**
 * Detects text or binary content.
 *
 * @param sample the file's first bytes, at most `sampleBytes`
 */
export function detectContent(sample: Buffer): ContentKind {
  const hex = sample.subarray(0, 16).toString('hex');
  const signature = signatures.find(([start]) => start.test(hex));
  // Short printable signatures are ambiguous: text may begin with "BZh".
  if (signature !== undefined && !isPlainText(sample)) {
    const [, kind, mimeType] = signature;
    return mimeType === undefined ? { text: false, kind } : { text: false, kind, mimeType };
  }
  if (hex.startsWith('efbbbf')) return { text: true, encoding: 'utf-8-bom' };
  if (hex.startsWith('fffe')) return { text: true, encoding: 'utf-16le' };
  if (hex.startsWith('feff')) return { text: true, encoding: 'utf-16be' };
  if (sample.includes(0)) {
    const encoding = utf16WithoutMark(sample);
    return encoding === undefined ? { text: false, kind: 'binary data' } : { text: true, encoding };
  }
  if (isUtf8(wholeCharacters(sample))) return { text: true, encoding: 'utf-8' };
  return isMostlyPrintable(sample)
    ? { text: true, encoding: legacyEncoding(sample) }
    : { text: false, kind: 'binary data' };
}

function isPlainText(sample: Buffer): boolean {
  const isPdf = sample.subarray(0, 5).toString('latin1') === '%PDF-';
  return !isPdf && !sample.includes(0) && isUtf8(wholeCharacters(sample));
}

/** Drops a character truncated at the end of the sample, at most three bytes. */
function wholeCharacters(sample: Buffer): Buffer {
  if (sample.length < sampleBytes) return sample;
  for (let back = 1; back <= 4; back += 1) {
    const byte = sample[sample.length - back] ?? 0;
    if (byte < 0x80) return sample;
    if (byte >= 0xc0) return sample.subarray(0, sample.length - back);
  }
  return sample;
}

function isMostlyPrintable(sample: Buffer): boolean {
  const controls = sample.filter(
    (byte) => byte < 0x20 && (byte < 0x08 || byte > 0x0d) && byte !== 0x1b,
  );
  return controls.length * 50 < sample.length;
}

/**
 * In UTF-16, the high byte of ASCII characters is NUL, so the side with most NULs gives the byte
 * order. Unassigned characters or controls mean binary data.
 */
function utf16WithoutMark(sample: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  const odd = sample.reduce((sum, byte, at) => sum + (byte === 0 ? (at % 2) * 2 - 1 : 0), 0);
  const encoding = odd > 0 ? 'utf-16le' : 'utf-16be';
  // The sample may split a surrogate pair.
  const text = decoded(sample, encoding)?.replace(/[\ud800-\udbff]$/, '') ?? '';
  const isText = /[ \n]/.test(text) && !/(?![\t\n\f\r])[\p{Cc}\p{Cn}\p{Co}\p{Cs}]/u.test(text);
  return isText ? encoding : undefined;
}

function legacyEncoding(sample: Buffer): 'shift_jis' | 'iso-8859-1' | 'unknown-8bit' {
  // Kana and Japanese punctuation distinguish Shift-JIS from other encodings with valid Shift-JIS
  // bytes.
  const japanese = decoded(sample, 'shift_jis');
  if (japanese !== undefined && !/\p{Co}/u.test(japanese)) {
    const kana = japanese.match(/[\u3001-\u30ff]/g)?.length ?? 0;
    const others = japanese.match(/[^\p{ASCII}\u3001-\u30ff]/gu)?.length ?? 0;
    if (kana > 0 && kana * 8 >= others) return 'shift_jis';
  }
  // In Latin-1, accented letters stand between ASCII letters. In Cyrillic, Greek or East Asian
  // encodings, non-ASCII bytes stand together.
  const [high, adjacent, isControl] = countHigh(sample);
  return !isControl && adjacent * 3 <= high ? 'iso-8859-1' : 'unknown-8bit';
}

/** Counts non-ASCII bytes and those that follow another one, and detects C1 controls. */
function countHigh(sample: Buffer): [high: number, adjacent: number, isControl: boolean] {
  let [high, adjacent, isControl] = [0, 0, false];
  for (const [at, byte] of sample.entries()) {
    if (byte < 0x80) continue;
    high += 1;
    if (at > 0 && (sample[at - 1] ?? 0) >= 0x80) adjacent += 1;
    isControl ||= byte < 0xa0;
  }
  return [high, adjacent, isControl];
}

/** Decodes strictly; undefined for invalid bytes. A character truncated at the end is allowed. */
function decoded(sample: Buffer, encoding: TextEncoding): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(sample, {
      stream: sample.length >= sampleBytes,
    });
  } catch {
    // Invalid bytes, or an encoding missing in this build of Node.js.
    return undefined;
  }
}

/** Creates a decoder for an encoding. */
export function decoderOf(
  encoding: TextEncoding,
  options?: { readonly ignoreBOM: boolean },
): InstanceType<typeof TextDecoder> {
  const isUtf8 = encoding.startsWith('utf-8') || encoding === 'unknown-8bit';
  return new TextDecoder(isUtf8 ? 'utf-8' : encoding, options);
}
