/** `read_file` with several files, images, audio, and missing paths. */
import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ToolResult } from 'mcp-actors';
import { readFileTool } from '../../src/tools/read-file.ts';
import { createWorkspace } from '../../src/project/workspace.ts';
import { fakeContext, toolError } from '../../../roots/test/fake-context.ts';
import { temporaryDirectory } from '../../../roots/test/temporary-directory.ts';

/**
 * Calls the tool on a project with these files and returns its result, or the texts of its blocks.
 */
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

describe('read_file: several files', () => {
  test('returns several files in order, each with its own lines, along with errors for missing ones', async () => {
    const { files, blocks } = await many({ 'a.txt': 'one\ntwo\n', 'dir/b.txt': 'three\n' });
    const paths = ['dir/b.txt', 'a.txt:2-2', 'c.txt', 'a.txt'];
    expect(await blocks({ paths })).toEqual([
      'dir/b.txt: 1 line, 6 bytes\n\nthree\n',
      'a.txt: lines 2 to 2 of 2, 8 bytes\n\ntwo\n',
      'NOT_FOUND: "c.txt" does not exist; use list_directory to see what exists',
      'a.txt: 2 lines, 8 bytes\n\none\ntwo\n',
    ]);
    expect((await files({ paths })).isError).toBe(false);
    expect((await files({ paths: ['c.txt', 'd.txt'] })).isError).toBe(true);
  });

  test('shares the limit: small files are whole, and large ones get the rest', async () => {
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

  test('requires either path or paths', async () => {
    const { files } = await many({});
    for (const args of [{}, { paths: [] }, { path: 'a', paths: ['b'] }]) {
      expect((await toolError(files(args))).message).toContain('"paths"');
    }
  });

  test('closes all files even if one of them is unreadable', async () => {
    const { blocks } = await many({ 'a.txt': 'one\n', 'b.bin': '\0' });
    const open = () => readdirSync('/proc/self/fd').length;
    const before = open();
    for (let round = 0; round < 20; round += 1) {
      expect(await blocks({ paths: ['a.txt', 'b.bin', 'gone'] })).toHaveLength(3);
    }
    expect(open()).toBeLessThan(before + 20);
  });
});

describe('read_file: images and audio', () => {
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

  test.each([
    ['image', 'image/png', png],
    ['image', 'image/jpeg', Buffer.from('ffd8ffe000104a464946', 'hex')],
    ['image', 'image/webp', Buffer.from('RIFF\x24\0\0\0WEBPVP8 ', 'latin1')],
    ['audio', 'audio/wav', Buffer.from('RIFF\x24\0\0\0WAVEfmt ', 'latin1')],
    ['audio', 'audio/mpeg', Buffer.from('fffb9064000000', 'hex')],
  ])('returns %s of %s as a content block', async (type, mimeType, bytes) => {
    const { files } = await many({ 'a.txt': 'one\n' }, { picture: bytes });
    const { content } = await files({ paths: ['picture', 'a.txt'] });
    expect(content).toEqual([
      { type: 'text', text: `picture: ${mimeType}, ${bytes.length} bytes` },
      { type, mimeType, data: bytes.toString('base64') },
      { type: 'text', text: 'a.txt: 1 line, 4 bytes\n\none\n' },
    ]);
  });

  test('limits the total size of images, and refuses a larger one with its size', async () => {
    const large = Buffer.concat([png, Buffer.alloc(2 * 1024 ** 2)]);
    const { blocks, files } = await many({}, { one: large, two: large });
    expect(await blocks({ paths: ['one', 'two'] })).toEqual([
      'one: image/png, 2097168 bytes',
      '',
      'BINARY_FILE: "two" is a PNG image of 2097168 bytes, too large to show: the limit is 1048560',
    ]);
    const huge = Buffer.concat([png, Buffer.alloc(4 * 1024 ** 2)]);
    const { files: read } = await many({}, { huge });
    expect((await toolError(read({ path: 'huge' }))).message).toContain('4194320 bytes');
    expect((await files({ path: 'two' })).content).toHaveLength(2);
  });
});

describe('read_file: missing path', () => {
  test.each([
    ['src/Read-File.ts', ['src/read-file.ts', 'test/read-file.ts']],
    ['read-file.ts', ['src/read-file.ts', 'test/read-file.ts']],
    ['lib/tools/read-file.ts', ['src/read-file.ts', 'test/read-file.ts']],
    ['deep/test/read-file.ts', ['test/read-file.ts', 'src/read-file.ts']],
    ['src/read-fiel.ts', ['src/read-file.ts']],
    ['src/read-file', ['src/read-file.ts']],
    ['src/read', ['src/read-file.ts']],
    ['.envv', ['.env']],
  ])('suggests the most similar path for %s', async (path, near) => {
    const { files } = await many({
      'src/read-file.ts': 'x\n',
      'test/read-file.ts': '',
      'src/other.ts': '',
      'src/bread.ts': '',
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

  test('refers to list_directory without similar paths', async () => {
    const { files } = await many({ 'a.txt': '' });
    const { message } = await toolError(files({ path: 'zebra.md' }));
    expect(message).toBe('"zebra.md" does not exist; use list_directory to see what exists');
  });
});
