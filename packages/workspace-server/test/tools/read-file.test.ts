import { open, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readFileTool } from '../../src/tools/read-file.ts';
import { createWorkspace } from '../../src/project/workspace.ts';
import { callTool, fakeContext, toolError } from '../../../roots/test/fake-context.ts';
import { temporaryDirectory } from '../../../roots/test/temporary-directory.ts';

/** Heading, text, and the suggested path for the rest. */
interface Read {
  readonly heading: string;
  readonly text: string;
  readonly rest: string | undefined;
}

async function project() {
  const cwd = await temporaryDirectory();
  const tool = readFileTool(createWorkspace({ directories: [cwd], cwd, home: '/nobody' }));
  const read = async (args: object): Promise<Read> => {
    const { text: whole } = await callTool(tool, args, fakeContext());
    const [heading = '', text = ''] = /^(.*)\n\n([^]*)$/.exec(whole)?.slice(1) ?? [whole];
    return { heading, text, rest: /read "(.*)"$/.exec(heading)?.[1] };
  };
  const readContent = async (content: string | Buffer, args: object = {}) => {
    await writeFile(join(cwd, 'file'), content);
    return await read({ path: 'file', ...args });
  };
  return { cwd, read, readContent };
}

describe('read_file: lines', () => {
  test.each([
    ['one\ntwo\nthree\n', {}, 'one\ntwo\nthree\n', '3 lines'],
    ['one\ntwo\nthree', {}, 'one\ntwo\nthree', '3 lines'],
    ['one\r\ntwo\r\n', {}, 'one\r\ntwo\r\n', '2 lines'],
    ['one\ntwo\nthree\n', { startLine: 2 }, 'two\nthree\n', 'lines 2 to 3 of 3'],
    ['one\ntwo\nthree\n', { startLine: 2, endLine: 2 }, 'two\n', 'lines 2 to 2 of 3'],
    ['one\ntwo\nthree\n', { endLine: 99 }, 'one\ntwo\nthree\n', '3 lines'],
    ['', {}, '', '0 lines'],
    ['\n', {}, '\n', '1 line'],
    ['one\u2028still one\n', {}, 'one\u2028still one\n', '1 line'],
  ])('%j with %j gives the lines %j', async (content, range, text, lines) => {
    const { readContent } = await project();
    const read = await readContent(content, range);
    const heading = `file: ${lines}, ${Buffer.byteLength(content)} bytes`;
    expect(read).toEqual({ heading, text, rest: undefined });
  });

  test('accepts lines in the path, unless a file has that name', async () => {
    const { cwd, read, readContent } = await project();
    await readContent('one\ntwo\nthree\nfour\n');
    expect((await read({ path: 'file:2-3' })).text).toBe('two\nthree\n');
    expect((await read({ path: 'file:3' })).text).toBe('three\nfour\n');
    expect((await read({ path: 'file:2:2' })).text).toBe('wo\nthree\nfour\n');
    expect((await read({ path: 'file:2:3-2' })).text).toBe('o\n');
    const both = await toolError(read({ path: 'file:2', endLine: 3 }));
    expect([both.code, both.message]).toEqual([
      'INVALID_RANGE',
      '"file:2" already includes lines: omit endLine, or the lines in the path',
    ]);
    await writeFile(join(cwd, 'file:3'), 'its own\n');
    expect((await read({ path: 'file:3' })).text).toBe('its own\n');
    expect((await toolError(read({ path: 'absent:3' }))).message).toContain('"absent"');
  });

  test('refuses lines after the end and reversed ranges', async () => {
    const { readContent } = await project();
    const behind = await toolError(readContent('one\n', { startLine: 5 }));
    expect(behind.code).toBe('OUT_OF_RANGE');
    expect(behind.message).toContain('1 line');
    expect((await toolError(readContent('one\n', { startLine: 2, endLine: 1 }))).code).toBe(
      'OUT_OF_RANGE',
    );
  });

  test('omits lines beyond the limit whole, with a path for the rest', async () => {
    const { read, readContent } = await project();
    const first = await readContent('one\ntwo\nthree\n', { maxCharacters: 6 });
    expect(first).toMatchObject({ text: 'one\n', rest: 'file:2' });
    expect(first.heading).toBe('file: lines 1 to 1 of 3, 14 bytes; for the rest read "file:2"');
    expect((await read({ path: first.rest })).text).toBe('two\nthree\n');
    const range = await read({ path: 'file:1-2', maxCharacters: 6 });
    expect(range.rest).toBe('file:2-2');
  });

  test('truncates a line longer than the limit, and says so', async () => {
    const { readContent } = await project();
    const { heading, text } = await readContent('one and two\nthree\n', { maxCharacters: 6 });
    expect(text).toBe('one an');
    expect(heading).toBe(
      'file: lines 1 to 1 of 2, 18 bytes; line 1 is truncated at column 7, for the rest read "file:1:7"',
    );
  });

  test('adds up parts of a long file to the whole for any lines and characters', async () => {
    const { readContent, read } = await project();
    const content = `${'😀項é'.repeat(40)}\nshort\n\n${'x'.repeat(100)}\nlast`;
    await readContent(content);
    let joined = '';
    let path: string | undefined = 'file';
    while (path !== undefined) {
      const part: Read = await read({ path, maxCharacters: 7 });
      expect(Buffer.from(part.text).toString()).toBe(part.text);
      joined += part.text;
      path = part.rest;
    }
    expect(joined).toBe(content);
  });

  test('counts the lines of a large file to its end while keeping only the range', async () => {
    const { readContent } = await project();
    const { text, heading } = await readContent('0123456789\n'.repeat(200_000), {
      startLine: 150_000,
      endLine: 150_001,
    });
    expect(text).toBe('0123456789\n0123456789\n');
    expect(heading).toContain('lines 150000 to 150001 of 200000');
  });

  test('gives no total for a file too large to count', async () => {
    const { cwd, read } = await project();
    const line = '0123456789abcde\n';
    await writeFile(join(cwd, 'file'), line.repeat(10_000));
    // The rest of the file is a hole.
    await truncate(join(cwd, 'file'), 70 * 1024 ** 2);
    const { heading, text, rest } = await read({ path: 'file', endLine: 1 });
    expect([text, rest]).toEqual([line, undefined]);
    expect(heading).toMatch(/^file: lines 1 to 1 of more than \d+, 73400320 bytes$/);
  });
});

describe('read_file: encodings', () => {
  test.each([
    ['utf-8', Buffer.from('é項😀\n')],
    ['utf-8-bom', Buffer.from('\uFEFFé項😀\n')],
    ['utf-16le', Buffer.from('\uFEFFé項😀\n', 'utf16le')],
    ['utf-16be', Buffer.from('\uFEFFé項😀\n', 'utf16le').swap16()],
  ])('decodes and reports %s', async (encoding, content) => {
    const { readContent } = await project();
    const { heading, text } = await readContent(content);
    expect(text).toBe('é項😀\n');
    // UTF-8 is not mentioned.
    expect(heading).toContain(encoding === 'utf-8' ? ': 1 line, 10 bytes' : `, ${encoding}, `);
  });

  test('shows decodable parts of text in an unknown encoding', async () => {
    const { readContent } = await project();
    const { heading, text } = await readContent(Buffer.from('\x93caf\xe9\x94\n', 'latin1'));
    expect(text).toBe('\ufffdcaf\ufffd\n');
    expect(heading).toContain('unknown-8bit');
  });

  test('keeps a character across a chunk boundary intact', async () => {
    const { readContent } = await project();
    for (const before of [65_533, 65_534, 65_535]) {
      const content = `${'x'.repeat(before)}😀\n`;
      const { heading, text } = await readContent(content, { maxCharacters: 100_000 });
      expect(text).toBe(content);
      expect(heading).not.toContain('8bit');
    }
  });

  test.each([
    ['PDF document', Buffer.from('%PDF-1.7\nplain')],
    ['gzip archive', Buffer.from('1f8b0800000000000003', 'hex')],
    ['ELF executable', Buffer.from('7f454c4602010100', 'hex')],
    ['binary data', Buffer.from('text\0text')],
    ['binary data', Buffer.from([1, 2, 3, 4, 0xff, 5, 6])],
  ])('refuses a %s with its size and kind', async (kind, content) => {
    const { readContent } = await project();
    const error = await toolError(readContent(content));
    expect(error.code).toBe('BINARY_FILE');
    expect(error.message).toContain(kind);
    expect(error.message).toContain(`${content.length} bytes`);
  });

  test('reads text that begins like an archive', async () => {
    const { readContent } = await project();
    const content = 'BZh is the beginning of bzip2\n';
    expect((await readContent(content)).text).toBe(content);
  });
});

describe('read_file: line numbers', () => {
  test('prefixes each line with its number, also in a range', async () => {
    const { readContent } = await project();
    const content = 'one\n\nthree';
    expect((await readContent(content, { lineNumbers: true })).text).toBe('1\tone\n2\t\n3\tthree');
    const range = { lineNumbers: true, startLine: 2, endLine: 2 };
    expect((await readContent(content, range)).text).toBe('2\t\n');
  });

  test('counts line numbers as characters', async () => {
    const { readContent } = await project();
    const { text, rest } = await readContent('x\n'.repeat(1000), {
      lineNumbers: true,
      maxCharacters: 400,
    });
    expect(text.length).toBeLessThanOrEqual(400);
    expect(text.endsWith('\n81\tx\n')).toBe(true);
    expect(rest).toBe('file:82');
  });
});

describe('read_file: tail', () => {
  test.each([
    ['one\ntwo\nthree\n', 2, 'two\nthree\n', 'lines 2 to 3 of 3'],
    ['one\ntwo\nthree', 1, 'three', 'lines 3 to 3 of 3'],
    ['one\ntwo\n', 9, 'one\ntwo\n', '2 lines'],
    ['', 3, '', '0 lines'],
  ])('%j, last %i lines', async (content, tail, text, lines) => {
    const { readContent } = await project();
    const heading = `file: ${lines}, ${content.length} bytes`;
    expect(await readContent(content, { tail })).toEqual({ heading, text, rest: undefined });
  });

  test.each(['utf8', 'utf16le'] as const)(
    'reads the last lines of a long text in %s',
    async (encoding) => {
      const { readContent } = await project();
      const line = fc.string({ unit: fc.constantFrom('a', 'é', '項', '😀'), maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(
          fc.array(line, { minLength: 1, maxLength: 60 }),
          fc.integer({ min: 1, max: 5 }),
          fc.integer({ min: 16, max: 40 }),
          async (lines, tail, maxCharacters) => {
            const mark = encoding === 'utf8' ? '' : '\uFEFF';
            const content = Buffer.from(`${mark}${lines.join('\n')}\n`, encoding);
            const { text, rest, heading } = await readContent(content, { tail, maxCharacters });
            expect(`${lines.join('\n')}\n`.endsWith(text)).toBe(true);
            const taken = text.split('\n').length - 1;
            const whole = taken === Math.min(tail, lines.length) && !heading.includes('missing');
            expect(whole || rest !== undefined || heading.includes('missing')).toBe(true);
            expect(text.length).toBeLessThanOrEqual(maxCharacters);
          },
        ),
        { numRuns: 60 },
      );
    },
  );

  test('reports lines that do not fit and where they are', async () => {
    const { readContent, read } = await project();
    const content = Array.from({ length: 100 }, (_, at) => `line ${at + 1}\n`).join('');
    const last = await readContent(content, { tail: 10, maxCharacters: 30, lineNumbers: true });
    expect(last.text).toBe('99\tline 99\n100\tline 100\n');
    expect(last.heading).toBe(
      'file: lines 99 to 100 of 100, 792 bytes; for the lines before read "file:91-98"',
    );
    const path = 'file:91-98';
    expect((await read({ path })).text.startsWith('line 91\n')).toBe(true);
    const { heading, text } = await readContent('x'.repeat(100), { tail: 1, maxCharacters: 30 });
    expect(text).toBe('x'.repeat(30));
    expect(heading).toContain('its beginning is missing');
  });

  test('reads the end of a huge file only', async () => {
    const { cwd, read } = await project();
    const handle = await open(join(cwd, 'huge.log'), 'w');
    // A sparse file: only its ends are written.
    await handle.write('first\n'.repeat(20_000), 0);
    await handle.write('\nlast but one\nlast\n', 4 * 1024 ** 3);
    await handle.close();
    const { heading, text } = await read({ path: 'huge.log', tail: 2, lineNumbers: true });
    expect(text).toBe('last but one\nlast\n');
    expect(heading).toBe('huge.log: the last 2 lines (too large to be numbered), 4294967315 bytes');
  });

  test('refuses tail together with another range', async () => {
    const { readContent, read } = await project();
    const error = await toolError(readContent('one\n', { tail: 1, startLine: 1 }));
    expect([error.code, error.message]).toEqual([
      'INVALID_RANGE',
      '"tail" must not be combined with startLine: it counts from the end',
    ]);
    expect((await toolError(read({ path: 'file:1', tail: 1 }))).code).toBe('INVALID_RANGE');
  });
});

describe('read_file: paths', () => {
  test('refuses paths outside, missing, to a directory, or through an outward link', async () => {
    const { cwd, read } = await project();
    const elsewhere = await temporaryDirectory({ secret: 'x' });
    await symlink(join(elsewhere, 'secret'), join(cwd, 'link'));
    expect((await toolError(read({ path: join(elsewhere, 'secret') }))).code).toBe('OUTSIDE_ROOTS');
    expect((await toolError(read({ path: 'link' }))).code).toBe('OUTSIDE_ROOTS');
    expect((await toolError(read({ path: '../x' }))).code).toBe('OUTSIDE_ROOTS');
    expect((await toolError(read({ path: 'absent' }))).code).toBe('NOT_FOUND');
    expect((await toolError(read({ path: '.' }))).code).toBe('NOT_A_FILE');
  });
});
