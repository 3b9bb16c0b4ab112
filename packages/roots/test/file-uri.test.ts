import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readFileUri } from '../src/file-uri.ts';

describe('on POSIX', () => {
  test.each([
    ['file:///home/me/project', '/home/me/project'],
    ['file:///home/me/project///', '/home/me/project'],
    ['FILE:///home/me', '/home/me'],
    ['file:/home/me', '/home/me'],
    ['file://localhost/home/me', '/home/me'],
    ['file://LOCALHOST/home/me', '/home/me'],
    ['file:///', '/'],
    ['  file:///home/me\n', '/home/me'],
    ['file:///a%20b', '/a b'],
    ['file:///a b', '/a b'],
    ['file:///C%23', '/C#'],
    ['file:///100%25', '/100%'],
    ['file:///what%3F', '/what?'],
    ['file:///a+b', '/a+b'],
    ['file:///%E9%A0%85%E7%9B%AE', '/項目'],
    ['file:///項目', '/項目'],
    ['file:///cafe%CC%81', '/cafe\u0301'],
    ['file:///caf%C3%A9', '/caf\u00e9'],
    ['file:///a\\b', '/a\\b'],
    ['file:///a%5Cb', '/a\\b'],
    ['file:///a\tb', '/a\tb'],
    ['file:///a/../b/./c', '/b/c'],
    ['file:///a/%2e%2e/b', '/b'],
    ['file:///c%3A/Users', '/c:/Users'],
  ])('%j is %j', (uri, path) => {
    expect(readFileUri(uri, { windows: false })).toEqual({ ok: true, path });
  });

  test.each([
    ['file://', /empty/],
    ['file:', /empty/],
    ['file://localhost', /empty/],
    ['file:relative/path', /relative/],
    ['file://host/share', /another host/],
    ['file://~/project', /another host/],
    ['file:///a%00b', /NUL/],
    ['file:///a\0b', /NUL/],
    ['file:///a%2Fb', /separator/],
    ['file:///a%FF', /percent-encoding/],
    ['file:///100%', /percent-encoding/],
    ['file:///C#', /%23/],
    ['file:///a?b', /%3F/],
    ['file://:80/x', /not a valid URI/],
  ])('%j is refused with a reason', (uri, reason) => {
    const reading = readFileUri(uri, { windows: false });
    expect(reading).toMatchObject({ ok: false, code: 'UNPARSABLE' });
    expect(reading.ok ? '' : reading.message).toMatch(reason);
  });
});

describe('on Windows', () => {
  test.each([
    ['file:///C:/Users/me', 'C:\\Users\\me'],
    ['file:///c%3A/Users/me', 'c:\\Users\\me'],
    ['file:///c%3a/Users/me/', 'c:\\Users\\me'],
    ['file:///C|/Users', 'C:\\Users'],
    ['file://H:\\work\\project', 'H:\\work\\project'],
    ['file://H:/work/project', 'H:\\work\\project'],
    ['file:///H:\\work', 'H:\\work'],
    ['file:H:\\work', 'H:\\work'],
    ['file://C%3A%5CUsers%5Cme', 'C:\\Users\\me'],
    ['file://localhost/C:/Users', 'C:\\Users'],
    ['file:///C:', 'C:\\'],
    ['file:///C:/', 'C:\\'],
    ['file:///C:/a%20b/%E9%A0%85', 'C:\\a b\\項'],
    ['file://server/share/x/', '\\\\server\\share\\x'],
    ['file:////server/share', '\\\\server\\share'],
    ['file://\\\\server\\share', '\\\\server\\share'],
    ['file:\\\\server\\share', '\\\\server\\share'],
  ])('%j is %j', (uri, path) => {
    expect(readFileUri(uri, { windows: true })).toEqual({ ok: true, path });
  });

  test.each(['file:///no/drive', 'file://', 'file:///C:/a%00', 'file:///C:/a#b'])(
    '%j is refused',
    (uri) => {
      expect(readFileUri(uri, { windows: true })).toMatchObject({ ok: false, code: 'UNPARSABLE' });
    },
  );
});

test.each(['https://example.com/', 'untitled:Untitled-1', '/home/me', '', 'vscode-remote://x/y'])(
  'rejects %j, which is not a file: URI',
  (uri) => {
    expect(readFileUri(uri)).toMatchObject({ ok: false, code: 'NOT_A_FILE_URI' });
  },
);

const name = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter(
    (text) =>
      !/[/\0]/.test(text) && text !== '.' && text !== '..' && Buffer.from(text).toString() === text,
  );

test('round-trips every POSIX path', () => {
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 5 }), (names) => {
      const path = `/${names.join('/')}`;
      const uri = pathToFileURL(path, { windows: false }).href;
      expect(readFileUri(uri, { windows: false })).toEqual({ ok: true, path });
    }),
  );
});

test('round-trips every Windows path [ROOTS-20]', () => {
  const plain = name.filter((text) => !/[\\:*?"<>|\p{Cc}]|^[\s.]|[\s.]$/u.test(text));
  fc.assert(
    fc.property(fc.array(plain, { minLength: 1, maxLength: 5 }), (names) => {
      const path = `D:\\${names.join('\\')}`;
      const uri = pathToFileURL(path, { windows: true }).href;
      expect(readFileUri(uri, { windows: true })).toEqual({ ok: true, path });
    }),
  );
});

test('never throws for any input', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    fc.string({ unit: fc.constantFrom(...Array.from('file:/\\%#?cC00|2F5. \0\n')) }),
  );
  fc.assert(
    fc.property(
      hostile,
      fc.constantFrom('', 'file:', 'file://', 'file:///'),
      fc.boolean(),
      (text, start, windows) => {
        const reading = readFileUri(start + text, { windows });
        if (reading.ok) expect(reading.path).not.toContain('\0');
      },
    ),
  );
});
