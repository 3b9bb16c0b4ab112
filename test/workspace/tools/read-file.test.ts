import { appendFileSync, readdirSync } from 'node:fs';
import { open, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ToolResult } from '../../../src/define/tool.ts';
import { LineTaker } from '../../../src/workspace/text/line-range.ts';
import type { LineRange } from '../../../src/workspace/text/line-range.ts';
import { readText } from '../../../src/workspace/text/read-text.ts';
import type { ReadBounds } from '../../../src/workspace/text/read-bounds.ts';
import { readFileTool } from '../../../src/workspace/tools/read-file.ts';
import { createWorkspace } from '../../../src/workspace/project/workspace.ts';
import { callTool, fakeContext, toolError } from '../fake-context.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** What a reading says above the text, the text, and the path that gives the rest. */
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

/** Calls the tool on a project of these files, and gives its result, or the texts of its blocks. */
async function many(
  texts: Readonly<Record<string, string>>,
  binaries: Readonly<Record<string, Buffer>> = {},
) {
  const cwd = await temporaryDirectory(texts);
  for (const [name, bytes] of Object.entries(binaries)) await writeFile(join(cwd, name), bytes);
  const tool = readFileTool(createWorkspace({ directories: [cwd], cwd, home: '/nobody' }));
  const files = async (args: object) =>
    (await tool.handler(args as never, fakeContext())) as ToolResult;
  const blocks = async (args: object) =>
    ((await files(args)).content ?? []).map((block) => (block.type === 'text' ? block.text : ''));
  return { files, blocks };
}

describe('lines', () => {
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
  ])('%j with %j is %j', async (content, range, text, lines) => {
    const { readContent } = await project();
    const read = await readContent(content, range);
    const heading = `file: ${lines}, ${Buffer.byteLength(content)} bytes`;
    expect(read).toEqual({ heading, text, rest: undefined });
  });

  test('a path may name its lines, unless a file has such a name', async () => {
    const { cwd, read, readContent } = await project();
    await readContent('one\ntwo\nthree\nfour\n');
    expect((await read({ path: 'file:2-3' })).text).toBe('two\nthree\n');
    expect((await read({ path: 'file:3' })).text).toBe('three\nfour\n');
    expect((await read({ path: 'file:2:2' })).text).toBe('wo\nthree\nfour\n');
    expect((await read({ path: 'file:2:3-2' })).text).toBe('o\n');
    const both = await toolError(read({ path: 'file:2', endLine: 3 }));
    expect([both.code, both.message]).toEqual([
      'INVALID_RANGE',
      '"file:2" names its lines: leave out endLine, or the lines in the path',
    ]);
    await writeFile(join(cwd, 'file:3'), 'its own\n');
    expect((await read({ path: 'file:3' })).text).toBe('its own\n');
    expect((await toolError(read({ path: 'absent:3' }))).message).toContain('"absent"');
  });

  test('a range behind the end, and one that ends before it begins, are refused', async () => {
    const { readContent } = await project();
    const behind = await toolError(readContent('one\n', { startLine: 5 }));
    expect(behind.code).toBe('OUT_OF_RANGE');
    expect(behind.message).toContain('1 line');
    expect((await toolError(readContent('one\n', { startLine: 2, endLine: 1 }))).code).toBe(
      'OUT_OF_RANGE',
    );
  });

  test('a text longer than the limit ends with a line, and says how to get the rest', async () => {
    const { read, readContent } = await project();
    const first = await readContent('one\ntwo\nthree\n', { maxCharacters: 6 });
    expect(first).toMatchObject({ text: 'one\n', rest: 'file:2' });
    expect(first.heading).toBe('file: lines 1 to 1 of 3, 14 bytes; for the rest read "file:2"');
    expect((await read({ path: first.rest })).text).toBe('two\nthree\n');
    const range = await read({ path: 'file:1-2', maxCharacters: 6 });
    expect(range.rest).toBe('file:2-2');
  });

  test('a line that is longer than the limit is cut, and the result says so', async () => {
    const { readContent } = await project();
    const { heading, text } = await readContent('one and two\nthree\n', { maxCharacters: 6 });
    expect(text).toBe('one an');
    expect(heading).toBe(
      'file: lines 1 to 1 of 2, 18 bytes; line 1 is cut before column 7, for the rest read "file:1:7"',
    );
  });

  test('the parts of a long file join to the whole, whatever its lines and characters', async () => {
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

  test('pieces of any size give the same lines', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '😀'), maxLength: 40 });
    const range = fc.record({
      startLine: fc.integer({ min: 1, max: 5 }),
      endLine: fc.integer({ min: 5, max: 9 }),
      startColumn: fc.integer({ min: 1, max: 4 }),
      maxCharacters: fc.integer({ min: 2, max: 20 }),
    });
    const take = (pieces: readonly string[], asked: LineRange) => {
      const taker = new LineTaker(asked);
      for (const piece of pieces) taker.add(piece);
      return taker.finish();
    };
    fc.assert(
      fc.property(text, range, (whole, asked) => {
        expect(take([...whole], asked)).toEqual(take([whole], asked));
      }),
    );
  });

  test('a large file is read to its end for its lines, and only the range is kept', async () => {
    const { readContent } = await project();
    const { text, heading } = await readContent('0123456789\n'.repeat(200_000), {
      startLine: 150_000,
      endLine: 150_001,
    });
    expect(text).toBe('0123456789\n0123456789\n');
    expect(heading).toContain('lines 150000 to 150001 of 200000');
  });
});

describe('encodings', () => {
  test.each([
    ['utf-8', Buffer.from('é項😀\n')],
    ['utf-8-bom', Buffer.from('\uFEFFé項😀\n')],
    ['utf-16le', Buffer.from('\uFEFFé項😀\n', 'utf16le')],
    ['utf-16be', Buffer.from('\uFEFFé項😀\n', 'utf16le').swap16()],
  ])('%s is decoded and stated', async (encoding, content) => {
    const { readContent } = await project();
    const { heading, text } = await readContent(content);
    expect(text).toBe('é項😀\n');
    // The usual one goes without saying.
    expect(heading).toContain(encoding === 'utf-8' ? ': 1 line, 10 bytes' : `, ${encoding}, `);
  });

  test('text that is no UTF-8 is shown as far as it can be', async () => {
    const { readContent } = await project();
    const { heading, text } = await readContent(Buffer.from('caf\xe9\n', 'latin1'));
    expect(text).toBe('caf\ufffd\n');
    expect(heading).toContain('unknown-8bit');
  });

  test('a character on the edge of what is read at once is whole', async () => {
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
  ])('%s is refused with its size and kind', async (kind, content) => {
    const { readContent } = await project();
    const error = await toolError(readContent(content));
    expect(error.code).toBe('BINARY_FILE');
    expect(error.message).toContain(kind);
    expect(error.message).toContain(`${content.length} bytes`);
  });

  test('a text that begins like an archive is text', async () => {
    const { readContent } = await project();
    const content = 'BZh is the beginning of bzip2\n';
    expect((await readContent(content)).text).toBe(content);
  });
});

describe('several files', () => {
  test('come in the order of their paths, each with its own lines, and with what is missing', async () => {
    const { files, blocks } = await many({ 'a.txt': 'one\ntwo\n', 'dir/b.txt': 'three\n' });
    const paths = ['dir/b.txt', 'a.txt:2-2', 'c.txt', 'a.txt'];
    expect(await blocks({ paths })).toEqual([
      'dir/b.txt: 1 line, 6 bytes\n\nthree\n',
      'a.txt: lines 2 to 2 of 2, 8 bytes\n\ntwo\n',
      'NOT_FOUND: "c.txt" does not exist; find_files lists what is there',
      'a.txt: 2 lines, 8 bytes\n\none\ntwo\n',
    ]);
    expect((await files({ paths })).isError).toBe(false);
    expect((await files({ paths: ['c.txt', 'd.txt'] })).isError).toBe(true);
  });

  test('share the room: small ones are whole, and what they leave is for the large ones', async () => {
    const large = 'x'.repeat(99).concat('\n').repeat(1000);
    const { blocks } = await many({ 'large.txt': large, 'small.txt': 'one\n', 'other.txt': large });
    const read = await blocks({
      paths: ['large.txt', 'small.txt', 'other.txt'],
      maxCharacters: 2000,
    });
    expect(read.map((text) => text.split('\n')[0])).toEqual([
      'large.txt: lines 1 to 9 of 1000, 100000 bytes; for the rest read "large.txt:10"',
      'small.txt: 1 line, 4 bytes',
      'other.txt: lines 1 to 10 of 1000, 100000 bytes; for the rest read "other.txt:11"',
    ]);
  });

  test('one of path and paths is needed', async () => {
    const { files } = await many({});
    for (const args of [{}, { paths: [] }, { path: 'a', paths: ['b'] }]) {
      expect((await toolError(files(args))).message).toContain('"paths"');
    }
  });

  test('are closed, also if one of them cannot be read', async () => {
    const { blocks } = await many({ 'a.txt': 'one\n', 'b.bin': '\0' });
    const open = () => readdirSync('/proc/self/fd').length;
    const before = open();
    for (let round = 0; round < 20; round += 1) {
      expect(await blocks({ paths: ['a.txt', 'b.bin', 'gone'] })).toHaveLength(3);
    }
    expect(open()).toBeLessThan(before + 20);
  });
});

describe('line numbers', () => {
  test('stand in front of each line, of a range too', async () => {
    const { readContent } = await project();
    const content = 'one\n\nthree';
    expect((await readContent(content, { lineNumbers: true })).text).toBe('1\tone\n2\t\n3\tthree');
    const range = { lineNumbers: true, startLine: 2, endLine: 2 };
    expect((await readContent(content, range)).text).toBe('2\t\n');
  });

  test('count as characters', async () => {
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

describe('tail', () => {
  test.each([
    ['one\ntwo\nthree\n', 2, 'two\nthree\n', 'lines 2 to 3 of 3'],
    ['one\ntwo\nthree', 1, 'three', 'lines 3 to 3 of 3'],
    ['one\ntwo\n', 9, 'one\ntwo\n', '2 lines'],
    ['', 3, '', '0 lines'],
  ])('%j, the last %i', async (content, tail, text, lines) => {
    const { readContent } = await project();
    const heading = `file: ${lines}, ${content.length} bytes`;
    expect(await readContent(content, { tail })).toEqual({ heading, text, rest: undefined });
  });

  test.each(['utf8', 'utf16le'] as const)(
    'of a long text in %s is that of its lines',
    (encoding) => {
      const line = fc.string({ unit: fc.constantFrom('a', 'é', '項', '😀'), maxLength: 12 });
      return fc.assert(
        fc.asyncProperty(
          fc.array(line, { minLength: 1, maxLength: 60 }),
          fc.integer({ min: 1, max: 5 }),
          fc.integer({ min: 16, max: 40 }),
          async (lines, tail, maxCharacters) => {
            const { readContent } = await project();
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

  test('what does not fit is said, and where it is', async () => {
    const { readContent, read } = await project();
    const content = Array.from({ length: 100 }, (_, at) => `line ${at + 1}\n`).join('');
    const last = await readContent(content, { tail: 10, maxCharacters: 30, lineNumbers: true });
    expect(last.text).toBe('99\tline 99\n100\tline 100\n');
    expect(last.heading).toBe(
      'file: lines 99 to 100 of 100, 792 bytes; for those before read "file:91-98"',
    );
    const path = 'file:91-98';
    expect((await read({ path })).text.startsWith('line 91\n')).toBe(true);
    const { heading, text } = await readContent('x'.repeat(100), { tail: 1, maxCharacters: 30 });
    expect(text).toBe('x'.repeat(30));
    expect(heading).toContain('the beginning of the line is missing');
  });

  test('of a huge file is read without the rest', async () => {
    const { cwd, read } = await project();
    const handle = await open(join(cwd, 'huge.log'), 'w');
    // A file with a hole: nothing is written but its ends.
    await handle.write('first\n'.repeat(20_000), 0);
    await handle.write('\nlast but one\nlast\n', 4 * 1024 ** 3);
    await handle.close();
    const { heading, text } = await read({ path: 'huge.log', tail: 2, lineNumbers: true });
    expect(text).toBe('last but one\nlast\n');
    expect(heading).toBe('huge.log: the last 2 lines (too large to be numbered), 4294967315 bytes');
  });

  test('goes with no other range', async () => {
    const { readContent, read } = await project();
    const error = await toolError(readContent('one\n', { tail: 1, startLine: 1 }));
    expect([error.code, error.message]).toEqual([
      'INVALID_RANGE',
      '"tail" counts from the end: leave it out, or startLine',
    ]);
    expect((await toolError(read({ path: 'file:1', tail: 1 }))).code).toBe('INVALID_RANGE');
  });
});

describe('pictures and sounds', () => {
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

  test.each([
    ['image', 'image/png', png],
    ['image', 'image/jpeg', Buffer.from('ffd8ffe000104a464946', 'hex')],
    ['image', 'image/webp', Buffer.from('RIFF\x24\0\0\0WEBPVP8 ', 'latin1')],
    ['audio', 'audio/wav', Buffer.from('RIFF\x24\0\0\0WAVEfmt ', 'latin1')],
    ['audio', 'audio/mpeg', Buffer.from('fffb9064000000', 'hex')],
  ])('%s of %s is a block of its own', async (type, mimeType, bytes) => {
    const { files } = await many({ 'a.txt': 'one\n' }, { picture: bytes });
    const { content } = await files({ paths: ['picture', 'a.txt'] });
    expect(content).toEqual([
      { type: 'text', text: `picture: ${mimeType}, ${bytes.length} bytes` },
      { type, mimeType, data: bytes.toString('base64') },
      { type: 'text', text: 'a.txt: 1 line, 4 bytes\n\none\n' },
    ]);
  });

  test('share what a result may have, and a larger one is refused with its size', async () => {
    const large = Buffer.concat([png, Buffer.alloc(2 * 1024 ** 2)]);
    const { blocks, files } = await many({}, { one: large, two: large });
    expect(await blocks({ paths: ['one', 'two'] })).toEqual([
      'one: image/png, 2097168 bytes',
      '',
      'BINARY_FILE: "two" is a PNG image of 2097168 bytes, too large to be shown: there is room for 1048560',
    ]);
    const huge = Buffer.concat([png, Buffer.alloc(4 * 1024 ** 2)]);
    const { files: read } = await many({}, { huge });
    expect((await toolError(read({ path: 'huge' }))).message).toContain('4194320 bytes');
    expect((await files({ path: 'two' })).content).toHaveLength(2);
  });
});

describe('a path at which there is nothing', () => {
  test.each([
    ['src/Read-File.ts', ['src/read-file.ts', 'test/read-file.ts']],
    ['read-file.ts', ['src/read-file.ts', 'test/read-file.ts']],
    ['lib/tools/read-file.ts', ['src/read-file.ts', 'test/read-file.ts']],
    ['deep/test/read-file.ts', ['test/read-file.ts', 'src/read-file.ts']],
    ['src/read-fiel.ts', ['src/read-file.ts']],
    ['src/read-file', ['src/read-file.ts']],
    ['.envv', ['.env']],
  ])('%s is answered with the nearest', async (path, near) => {
    const { files } = await many({
      'src/read-file.ts': 'x\n',
      'test/read-file.ts': '',
      'src/other.ts': '',
      '.env': '',
      '.git/read-file.ts': '',
    });
    const { code, message } = await toolError(files({ path }));
    const meant = near.map((one) => JSON.stringify(one)).join(' or ');
    expect([code, message]).toEqual([
      'NOT_FOUND',
      `${JSON.stringify(path)} does not exist; did you mean ${meant}?`,
    ]);
  });

  test('and like nothing that is there, is told where to look', async () => {
    const { files } = await many({ 'a.txt': '' });
    const { message } = await toolError(files({ path: 'zebra.md' }));
    expect(message).toBe('"zebra.md" does not exist; find_files lists what is there');
  });
});

describe('places', () => {
  test('what is outside, absent, a directory, or a link out is refused', async () => {
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

describe('bounds', () => {
  const line = '0123456789abcde\n';

  /** Reads a file of 64 KiB times `pieces`, and tells after each piece how much has been read. */
  async function readBounded(
    pieces: number,
    range: Partial<LineRange>,
    bounds: Partial<ReadBounds>,
    {
      unit = line,
      onRead,
    }: { readonly unit?: string; readonly onRead?: (path: string) => void } = {},
  ) {
    const content = unit.repeat((pieces * 64 * 1024) / unit.length);
    const directory = await temporaryDirectory({ file: content });
    const path = join(directory, 'file');
    const handle = await open(path);
    onTestFinished(async () => await handle.close());
    const read: number[] = [];
    const reading = await readText(
      handle,
      { startLine: 1, startColumn: 1, maxCharacters: 1000, ...range },
      {
        sizeBytes: content.length,
        ...bounds,
        signal: new AbortController().signal,
        onRead: (bytes) => {
          read.push(bytes);
          onRead?.(path);
        },
      },
    );
    if (!reading.text) throw new Error('It is text');
    return { ...reading, bytes: read.at(-1), size: content.length };
  }

  test('a file is read to the size that it had when it was opened', async () => {
    let appended = 0;
    const { bytes, size, taken, reach } = await readBounded(
      6,
      {},
      {},
      {
        onRead: (path) => {
          appended += 1;
          if (appended < 50) appendFileSync(path, line.repeat(32 * 1024));
        },
      },
    );
    expect([bytes, reach]).toEqual([size, 'end']);
    expect(taken.lines).toBe(size / line.length);
  });

  test('behind the range lines are counted only so far', async () => {
    const { bytes, reach, taken } = await readBounded(20, {}, { countedBytes: 100_000 });
    expect(reach).toBe('range');
    expect(bytes).toBeLessThan(400_000);
    expect(taken).toMatchObject({ endLine: 62, next: { startLine: 63, startColumn: 1 } });
  });

  test('a range that begins behind that is read all the same', async () => {
    const range = { startLine: 60_000, endLine: 60_001 };
    const { reach, taken } = await readBounded(20, range, { countedBytes: 100_000 });
    expect([reach, taken.text]).toEqual(['range', line.repeat(2)]);
  });

  test.each([
    [{ startLine: 1_000_000 }, line],
    [{ startColumn: 10_000_000 }, 'x'],
  ])('%j is looked for only so far', async (range, unit) => {
    const { bytes, reach, taken } = await readBounded(
      20,
      range,
      { soughtBytes: 100_000 },
      { unit },
    );
    expect([reach, taken.text]).toEqual(['short', '']);
    expect(bytes).toBeLessThan(400_000);
  });

  test('a file whose lines are not all counted has no total', async () => {
    const { readContent } = await project();
    const content = Buffer.alloc(70 * 1024 ** 2, line);
    const { heading, text, rest } = await readContent(content, { endLine: 1 });
    expect([text, rest]).toEqual([line, undefined]);
    expect(heading).toMatch(/^file: lines 1 to 1 of more than \d+, 73400320 bytes$/);
  });

  test.runIf(process.platform === 'linux')(
    'a file of the system that says it is empty is read',
    async () => {
      const handle = await open('/proc/self/status');
      onTestFinished(async () => await handle.close());
      const range = { startLine: 1, endLine: 1, startColumn: 1, maxCharacters: 1000 };
      const { signal } = new AbortController();
      const reading = await readText(handle, range, { sizeBytes: 0, signal });
      expect(reading).toMatchObject({ taken: { text: expect.stringMatching(/^Name:/) } });
    },
  );
});
