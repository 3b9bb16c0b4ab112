/** Names and texts spelled or encoded differently from the caller's input. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createMcpServer } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { testClient } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../../roots/test/temporary-directory.ts';
import type { Files } from '../../roots/test/temporary-directory.ts';
import { workspaceServer } from '../src/workspace-server.ts';
import { readAnswer } from './read-answer.ts';

async function projectOf(files: Files) {
  const cwd = await temporaryDirectory(files);
  const { definition } = workspaceServer({ cwd, home: '/nobody', version: '1' });
  const client = await testClient(createMcpServer(definition));
  const call = async (tool: string, args: JsonObject = {}) =>
    (await client.callTool(tool, args)).text;
  const lines = async (tool: string, args: JsonObject) => readAnswer(await call(tool, args)).lines;
  return { cwd, client, call, lines };
}

describe('CRLF line endings', () => {
  const files = {
    'dos.txt': 'one;\r\ntwo\r\n\r\nthree;\r\n',
    'unix.txt': 'one;\n\nthree ;\n',
    'wide.txt': Buffer.from('\ufeffone;\r\ntwo\r\n', 'utf16le'),
    'large.txt': `one;\r\n${'x\r\n'.repeat(1_500_000)}`,
  };

  test('matches $ at CRLF in every mode, file size and encoding', async () => {
    const { lines } = await projectOf(files);
    const args = { pattern: ';$', regex: true };
    expect(await lines('search_text', { ...args, mode: 'count' })).toEqual([
      ...['dos.txt: 2', 'large.txt: 1', 'unix.txt: 2', 'wide.txt: 1'],
    ]);
    expect(await lines('search_text', { ...args, globs: ['dos.txt', 'wide.txt'] })).toEqual([
      ...['dos.txt', '1: one;', '4: three;', '', 'wide.txt', '1: one;'],
    ]);
  });

  test('treats a CRLF line as empty, without trailing white space', async () => {
    const { lines } = await projectOf(files);
    const globs = ['dos.txt', 'unix.txt'];
    expect(
      await lines('search_text', { pattern: '^$', regex: true, mode: 'count', globs }),
    ).toEqual(['dos.txt: 1', 'unix.txt: 1']);
    expect(await lines('search_text', { pattern: '\\s+$', regex: true, globs })).toEqual([]);
  });

  test.each(['one;\\r?$', ';\\r', '[\\x0d]', 'o\\x{d}'])(
    'searches CRLF files for a pattern that mentions the carriage return: %s',
    async (pattern) => {
      const { lines } = await projectOf({ 'dos.txt': 'one;\r\ntwo\r\n' });
      expect(await lines('search_text', { pattern, regex: true })).not.toEqual([]);
    },
  );

  test('matches $ at CRLF after an escaped backslash', async () => {
    const { lines } = await projectOf({ 'dos.txt': 'C:\\root\r\n' });
    expect(await lines('search_text', { pattern: 'C:\\\\root$', regex: true })).toHaveLength(2);
  });
});

describe('names in another Unicode normalization form', () => {
  test.each(['NFC', 'NFD'] as const)(
    'finds a name in another normalization form if the disk has %s',
    async (form) => {
      const asked = (text: string) => text.normalize(form === 'NFC' ? 'NFD' : 'NFC');
      const path = 'café/naïve é.txt'.normalize(form);
      const { call, lines } = await projectOf({ [path]: 'needle\n' });
      expect(await call('read_file', { path: asked(path) })).toContain('needle');
      expect(await call('read_file', { path: asked(`${path}:1-1`) })).toContain('needle');
      expect(await lines('list_directory', { path: asked('café') })).toEqual([
        `${'naïve é.txt'.normalize(form)} 7 B`,
      ]);
      for (const glob of ['café/*.txt', 'café', 'na?ve*', 'naïve [é].txt', 'café/naïve é.txt']) {
        expect(await lines('find_files', { globs: asked(glob) }), glob).toContain(path);
        const found = await lines('search_text', { pattern: 'needle', globs: asked(glob) });
        expect(found, glob).toEqual([path, '1: needle']);
      }
      expect(await lines('find_files', { globs: asked('!café') })).toEqual([]);
    },
  );

  test('distinguishes names that differ in normalization form only', async () => {
    const [composed, decomposed] = ['é'.normalize('NFC'), 'é'.normalize('NFD')];
    const { call } = await projectOf({ [composed]: 'one', [decomposed]: 'two' });
    expect(await call('read_file', { path: composed })).toContain('one');
    expect(await call('read_file', { path: decomposed })).toContain('two');
  });

  test('keeps other spellings inside the roots', async () => {
    const { client, cwd } = await projectOf({ 'in/a': '', 'é.txt': 'secret' });
    const outside = workspaceServer({ cwd: join(cwd, 'in'), home: '/nobody', version: '1' });
    const other = await testClient(createMcpServer(outside.definition));
    for (const path of ['../é.txt', join(cwd, 'é.txt')]) {
      const { text } = await other.callTool('read_file', { path: path.normalize('NFD') });
      expect(text).toContain('OUTSIDE_ROOTS');
    }
    await client.close();
  });
});

describe('escaped names from results', () => {
  const names = [
    'app/[id]/page.tsx',
    'app/[...all]/{a,b}.tsx',
    'a\u001b[2J\n.txt',
    'zero\u200bwidth.txt',
    'back\\slash*.txt',
    'open[.txt',
    'quote".txt',
    'a.txt:10',
  ];

  test('accepts escaped names from other results', async () => {
    const files = Object.fromEntries(
      names.map((name) => [name, `needle ${names.indexOf(name)}\n`]),
    );
    const { call, lines } = await projectOf(files);
    const printed = (await lines('find_files', {})).filter((path) => !path.endsWith('/'));
    expect(printed).toHaveLength(names.length);
    for (const path of printed) {
      expect(await call('read_file', { path }), path).toMatch(/\n\nneedle \d\n$/);
      expect(await lines('find_files', { globs: path }), path).toEqual([path]);
      expect((await lines('search_text', { pattern: 'needle', globs: [path] }))[0]).toBe(path);
    }
    const directory = (await lines('find_files', { globs: 'app/*/' })).at(0) ?? '';
    expect(await lines('list_directory', { path: directory })).toHaveLength(1);
    expect((await lines('find_files', { globs: directory }))[0]).toBe(directory);
    expect(await lines('search_text', { pattern: 'needle', globs: [directory] })).toHaveLength(2);
    expect(await lines('find_files', { globs: ['app', '!app/[id]'] })).not.toContain(
      'app/[id]/page.tsx',
    );
  });

  test('accepts escaped names as suggested by an error', async () => {
    const name = `${'long '.repeat(40)}\u200b"x"\n.txt`;
    const { call } = await projectOf({ [`deep/${'d'.repeat(200)}/${name}`]: 'needle\n' });
    const message = await call('read_file', { path: name });
    const [, suggested = ''] = /did you mean "(.*)"\?/.exec(message) ?? [];
    expect(await call('read_file', { path: suggested })).toContain('needle');
  });

  test('treats an escaped name that is a pattern as a glob', async () => {
    const { lines } = await projectOf({ '[ab]': '', a: '', b: '', '*': '' });
    expect(await lines('find_files', { globs: '[ab]' })).toEqual(['[ab]', 'a', 'b']);
    expect(await lines('find_files', { globs: '*' })).toHaveLength(4);
  });
});

describe('text that is neither UTF-8 nor marked', () => {
  const japanese = 'こんにちは、世界。カタカナ needle\r\n'.repeat(40);
  const shiftJis = Buffer.from(
    '82b182f182c982bf82cd814190a28a458142834a835e834a8369206e6565646c650d0a'.repeat(40),
    'hex',
  );
  const latin = 'Größe: café, naïve Überraschung für alle\n'.repeat(3000);
  const wide = 'One line, 世界, é 😀\nand another\n'.repeat(3000);

  test.each([
    ['shift_jis', shiftJis, japanese],
    ['iso-8859-1', Buffer.from(latin, 'latin1'), latin],
    ['utf-16le', Buffer.from(wide, 'utf16le'), wide],
    ['utf-16be', Buffer.from(wide, 'utf16le').swap16(), wide],
  ])('reads unmarked text as %s, from its start and its end', async (encoding, content, text) => {
    const { call } = await projectOf({ 'a.txt': content });
    const read = await call('read_file', { path: 'a.txt', maxCharacters: 400_000 });
    expect(read.slice(read.indexOf('\n\n') + 2)).toBe(text);
    expect(read.split('\n')[0]).toContain(`, ${encoding}`);
    for (const maxCharacters of [50, 51, 52, 53, 1000]) {
      const tail = await call('read_file', { path: 'a.txt', tail: 1, maxCharacters });
      expect(text.endsWith(tail.slice(tail.indexOf('\n\n') + 2))).toBe(true);
      expect(tail).not.toContain('\ufffd');
    }
  });

  test.each([
    ['Cyrillic', Buffer.from('cff0e8e2e5f22c20ece8f0210a', 'hex')],
    ['EUC-JP', Buffer.from('a4b3a4f3a4cba4c1a4cf0a', 'hex')],
    ['Windows quotation marks', Buffer.from('\x93quoted\x94\n', 'latin1')],
  ])('reports other unmarked text as unknown: %s', async (_, content) => {
    const { call } = await projectOf({ 'a.txt': content });
    const text = await call('read_file', { path: 'a.txt' });
    expect(text).toContain('unknown-8bit (U+FFFD stands for');
    expect(text).toContain('\ufffd');
  });

  test('treats NULs on one side without valid text as binary', async () => {
    const bytes = Buffer.from([1, 0, 32, 0, 200, 0, 10, 0]);
    const { call } = await projectOf({ 'a.bin': bytes });
    expect(await call('read_file', { path: 'a.bin' })).toContain('BINARY_FILE');
  });

  test('decodes unmarked text in search results, with a note on the limits of searching it', async () => {
    const { lines, call, cwd } = await projectOf({ 'jis.txt': shiftJis.subarray(0, 34) });
    await writeFile(join(cwd, 'latin.txt'), 'café needle\n', 'latin1');
    expect(await lines('search_text', { pattern: 'needle' })).toEqual([
      ...['jis.txt', '1: こんにちは、世界。カタカナ needle', '', 'latin.txt', '1: café needle'],
    ]);
    expect(await call('search_text', { pattern: 'café' })).toContain(
      'Non-ASCII characters are only found in UTF-8',
    );
  });
});
