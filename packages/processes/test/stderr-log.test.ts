import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { StderrLog } from '../src/stderr-log.ts';

const KiB = 1024;

/** Everything that a log gives on, of what is pushed into it in these pieces. */
function told(pieces: readonly Buffer[]): string[] {
  const log = new StderrLog();
  const texts = pieces.map((piece) => log.push(piece));
  return [...texts, log.end()].filter((text) => text !== undefined);
}

describe('what a process writes to its standard error', () => {
  test('is passed on in whole lines and in order for any chunking', () => {
    const text = fc.array(fc.constantFrom('a', 'ü', '€', '😀', '\n', 'line\n'), { maxLength: 60 });
    const cuts = fc.array(fc.nat(5), { maxLength: 200 });
    fc.assert(
      fc.property(text, cuts, (parts, lengths) => {
        const bytes = Buffer.from(parts.join(''));
        const pieces: Buffer[] = [];
        let at = 0;
        for (const length of lengths) pieces.push(bytes.subarray(at, (at += length)));
        pieces.push(bytes.subarray(at));
        // Each text is without its last line feed.
        expect(told(pieces).join('\n')).toBe(parts.join('').replace(/\n$/, ''));
      }),
    );
  });

  test('keeps the last 64 KiB for any chunking', () => {
    const pieces = fc.array(fc.nat(90 * KiB), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(pieces, (lengths) => {
        const log = new StderrLog();
        let all = '';
        for (const [at, length] of lengths.entries()) {
          const text = `${at}\n`.repeat(length).slice(0, length);
          log.push(Buffer.from(text));
          all += text;
        }
        const last = all.slice(-64 * KiB);
        const whole = all.length > 64 * KiB ? last.slice(last.indexOf('\n') + 1) : last;
        // Not `toBe`: it would print all of both.
        expect(log.text === whole).toBe(true);
        expect(log.bytes).toBe(all.length);
      }),
      { numRuns: 50 },
    );
  });

  test('passes an endless line on in pieces and keeps its end', () => {
    const log = new StderrLog();
    const texts = Array.from({ length: 300 }, () => log.push(Buffer.from('x'.repeat(KiB))));
    const pieces = texts.filter((text) => text !== undefined);
    expect(pieces).toHaveLength(37);
    expect(new Set(pieces.map(({ length }) => length))).toEqual(new Set([8 * KiB]));
    expect(log.text).toHaveLength(64 * KiB);
    expect(log.end()).toHaveLength(4 * KiB);
  });

  test('quotes the last lines of the current run only', () => {
    const log = new StderrLog();
    log.push(Buffer.from('of the first run\n'));
    const from = log.bytes;
    expect(log.lastLines(from)).toBe('');
    log.push(Buffer.from('of the second\n'));
    expect(log.lastLines(from)).toBe('of the second');
    log.push(Buffer.from('a line\n'.repeat(20_000)));
    const quoted = log.lastLines(from);
    expect(quoted.length).toBeLessThanOrEqual(2000);
    expect(quoted).toMatch(/^(a line\n){200,}a line$/);
  });
});
