/** Ambiguous requests: none may smuggle another request past a proxy. */
import { describe, expect, test } from 'vitest';
import { defineTool } from '../../../../src/index.ts';
import { begin } from '../raw-client.ts';
import { serveTools } from '../serving.ts';
import { lastRequest, sendBytes, statusesOf, wire } from './wire.ts';

/** Serves a tool that records its arguments. */
async function serveNotes() {
  const notes: unknown[] = [];
  const note = defineTool({
    name: 'note',
    description: 'Notes what it is called with',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
    handler: ({ text }) => {
      notes.push(text);
      return 'noted';
    },
  });
  const { url } = await serveTools([note], { path: '/mcp' });
  const session = await begin(url);
  return { url, session: session.id, notes };
}

const bodyOf = (text: string) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: text,
    method: 'tools/call',
    params: { name: 'note', arguments: { text } },
  });

const body = bodyOf('seen');
const size = body.length;
const chunk = (text: string, extension = '') =>
  `${text.length.toString(16)}${extension}\r\n${text}\r\n`;
const chunked = `${chunk(body)}0\r\n\r\n`;

/** Deviations from a correct request. */
interface Shape {
  readonly line?: string;
  readonly host?: string | readonly string[];
  /** Replaces the correct `Content-Length`. */
  readonly framing?: readonly string[];
  readonly more?: readonly string[];
  readonly session?: readonly string[];
  readonly sent?: string;
  /** Transforms the whole request. */
  readonly written?: (bytes: string) => string;
}

interface Place {
  readonly url: URL;
  readonly session: string;
}

function bytesOf(shape: Shape, { url, session }: Place): string {
  const filled = (text: string) => text.replaceAll('HOST', url.host).replaceAll('SESSION', session);
  const { host = 'Host: HOST', framing = [`Content-Length: ${size}`] } = shape;
  const bytes = wire({
    line: filled(shape.line ?? 'POST /mcp HTTP/1.1'),
    headers: [
      ...[host].flat(),
      'Content-Type: application/json',
      ...(shape.session ?? ['Mcp-Session-Id: SESSION']),
      ...framing,
      ...(shape.more ?? []),
    ].map(filled),
    body: shape.sent ?? body,
  });
  return shape.written?.(bytes) ?? bytes;
}

const te = 'Transfer-Encoding: chunked';

const refused: readonly (readonly [what: string, shape: Shape, status: number])[] = [
  ['a length and chunks', { framing: [`Content-Length: ${size}`, te], sent: chunked }, 400],
  ['chunks and a length', { framing: [te, 'Content-Length: 4'], sent: chunked }, 400],
  ['two lengths', { framing: [`Content-Length: ${size}`, 'Content-Length: 3'] }, 400],
  ['one length twice', { framing: [`Content-Length: ${size}`, `Content-Length: ${size}`] }, 400],
  ['a list of lengths', { framing: [`Content-Length: ${size}, ${size}`] }, 400],
  ['a negative length', { framing: ['Content-Length: -1'] }, 400],
  ['a length with a sign', { framing: [`Content-Length: +${size}`] }, 400],
  ['a length that is not decimal', { framing: [`Content-Length: 0x${size.toString(16)}`] }, 400],
  ['a length past all numbers', { framing: [`Content-Length: ${'9'.repeat(30)}`] }, 400],
  [
    'a coding that only ends like chunked',
    { framing: ['Transfer-Encoding: xchunked'], sent: chunked },
    400,
  ],
  [
    'chunked, then something else',
    { framing: [te, 'Transfer-Encoding: identity'], sent: chunked },
    400,
  ],
  ['a space before the colon', { framing: ['Transfer-Encoding : chunked'], sent: chunked }, 400],
  ['a chunk whose size is no number', { framing: [te], sent: `zz\r\n${body}` }, 400],
  [
    'a chunk of a size past all numbers',
    { framing: [te], sent: `${'f'.repeat(17)}\r\n${body}` },
    400,
  ],
  ['chunks with bare line feeds', { framing: [te], sent: chunked.replaceAll('\r\n', '\n') }, 400],
  [
    'an extension of a chunk that is too long',
    { framing: [te], sent: chunk(body, `;a=${'b'.repeat(20_000)}`) },
    413,
  ],
  ['bare line feeds', { written: (bytes) => bytes.replaceAll('\r\n', '\n') }, 400],
  ['a bare line feed in a header', { more: [`X-A: 1\nX-B: 2`] }, 400],
  ['a bare carriage return in a header', { more: [`X-A: 1\rX-B: 2`] }, 400],
  ['a header that goes on in the next line', { more: ['X-A: 1', '  2'] }, 400],
  ['a null character in a header', { more: ['X-A: 1\0'] }, 400],
  ['a line that is no header', { more: ['X-A'] }, 400],
  ['a header that is too long', { more: [`X-A: ${'a'.repeat(20_000)}`] }, 431],
  ['too many headers', { more: Array.from({ length: 3000 }, (_, n) => `X-${n}: 1`) }, 431],
  ['a target that is too long', { line: `POST /mcp?${'a'.repeat(20_000)} HTTP/1.1` }, 431],
  ['a method in lower case', { line: 'post /mcp HTTP/1.1' }, 400],
  ['a method that HTTP does not have', { line: 'FROB /mcp HTTP/1.1' }, 400],
];

describe('an invalid HTTP message, whose connection is closed unserved', () => {
  test.each(refused)('is rejected: %s [HTTP-18]', async (_, shape, status) => {
    const { notes, ...place } = await serveNotes();
    const hidden = bytesOf(
      { framing: [`Content-Length: ${bodyOf('hidden').length}`], sent: bodyOf('hidden') },
      place,
    );
    const answers = await sendBytes(place.url, bytesOf(shape, place) + hidden);
    expect([statusesOf(answers), notes]).toEqual([[status], []]);
    expect(answers.toLowerCase()).toContain('connection: close');
  });
});

test('rejects a request without Host in Node and closes its connection [HTTP-18]', async () => {
  const { notes, ...place } = await serveNotes();
  const answers = await sendBytes(place.url, bytesOf({ host: [] }, place));
  expect([statusesOf(answers), notes]).toEqual([[400], []]);
  expect(answers.toLowerCase()).toContain('connection: close');
});

test('rejects an HTTP/1.0 request without Host with a message [HTTP-01]', async () => {
  const { notes, ...place } = await serveNotes();
  const shape = { line: 'POST /mcp HTTP/1.0', host: [] };
  const answers = await sendBytes(place.url, bytesOf(shape, place));
  expect([statusesOf(answers), notes]).toEqual([[403], []]);
  expect(answers).toContain('The Host header is missing');
});

const understood: readonly (readonly [what: string, shape: Shape, status: number])[] = [
  ['a length', {}, 200],
  [
    'a byte order mark',
    { framing: [`Content-Length: ${size + 3}`], sent: `\xef\xbb\xbf${body}` },
    200,
  ],
  ['no encoding, in capitals', { more: ['Content-Encoding: Identity'] }, 200],
  ['chunks', { framing: [te], sent: chunked }, 200],
  ['an extension of a chunk', { framing: [te], sent: `${chunk(body, ';a=b')}0\r\n\r\n` }, 200],
  [
    'a chunk for each character',
    { framing: [te], sent: `${[...body].map((each) => chunk(each)).join('')}0\r\n\r\n` },
    200,
  ],
  ['a tab before the coding', { framing: ['Transfer-Encoding:\tchunked'], sent: chunked }, 200],
  [
    'headers after the body, which count for nothing',
    { framing: [te], sent: `${chunk(body)}0\r\nMcp-Session-Id: x\r\nHost: evil.example\r\n\r\n` },
    200,
  ],
  ['a target with its host', { line: 'POST http://HOST/mcp HTTP/1.1' }, 200],
  [
    'a target with its host, which counts for more than the header',
    { line: 'POST http://HOST/mcp HTTP/1.1', host: 'Host: evil.example' },
    200,
  ],
  ['a target with a host that is not ours', { line: 'POST http://evil.example/mcp HTTP/1.1' }, 403],
  [
    'a target with a host behind a name',
    { line: 'POST http://HOST@evil.example/mcp HTTP/1.1' },
    403,
  ],
  ['a target of another path', { line: 'POST http://HOST HTTP/1.1' }, 404],
  ['a path that leads there', { line: 'POST /x/../mcp HTTP/1.1' }, 404],
  ['a path that is written otherwise', { line: 'POST /%6dcp HTTP/1.1' }, 404],
  ['a path with two slashes', { line: 'POST //mcp HTTP/1.1' }, 404],
  ['a host that is not ours', { host: 'Host: evil.example' }, 403],
  ['a host twice', { host: ['Host: HOST', 'Host: HOST'] }, 400],
  [
    'a target with its host, and two others',
    { line: 'POST http://HOST/mcp HTTP/1.1', host: ['Host: HOST', 'Host: evil.example'] },
    400,
  ],
  ['two hosts, of which the first is ours', { host: ['Host: HOST', 'Host: evil.example'] }, 400],
  ['two hosts, of which the last is ours', { host: ['Host: evil.example', 'Host: HOST'] }, 400],
  [
    'two origins, of which the first is ours',
    { more: ['Origin: http://HOST', 'Origin: http://evil.example'] },
    403,
  ],
  ['two media types, of which the first is JSON', { more: ['Content-Type: text/plain'] }, 415],
  [
    'another coding inside of the chunks',
    { framing: ['Transfer-Encoding: gzip, chunked'], sent: chunked },
    501,
  ],
  ['a session twice', { session: ['Mcp-Session-Id: SESSION', 'Mcp-Session-Id: SESSION'] }, 400],
  [
    'a session that a proxy has joined with itself',
    { session: ['Mcp-Session-Id: SESSION,SESSION'] },
    400,
  ],
  [
    'a revision twice',
    { more: ['MCP-Protocol-Version: 2025-11-25', 'MCP-Protocol-Version: 2025-11-25'] },
    400,
  ],
  [
    'revisions of both eras',
    { more: ['MCP-Protocol-Version: 2026-07-28', 'MCP-Protocol-Version: 2025-11-25'] },
    400,
  ],
  ['PUT', { line: 'PUT /mcp HTTP/1.1' }, 405],
  ['TRACE', { line: 'TRACE /mcp HTTP/1.1' }, 405],
  ['PATCH', { line: 'PATCH /mcp HTTP/1.1' }, 405],
  ['OPTIONS, without CORS', { line: 'OPTIONS /mcp HTTP/1.1' }, 405],
  ['HEAD', { line: 'HEAD /mcp HTTP/1.1' }, 405],
  ['an expectation that nobody meets', { more: ['Expect: 200-maybe'] }, 417],
];

describe('an unusual HTTP message, after which the next one is served', () => {
  test.each(understood)('is one request: %s [HTTP-18]', async (_, shape, status) => {
    const { notes, ...place } = await serveNotes();
    const answers = await sendBytes(place.url, bytesOf(shape, place) + lastRequest(place.url));
    expect(statusesOf(answers)).toEqual([status, 405]);
    expect(notes).toEqual(status === 200 ? ['seen'] : []);
  });

  test('accepts a body sent after 100-continue [HTTP-18]', async () => {
    const { notes, ...place } = await serveNotes();
    const shape = { more: ['Expect: 100-continue'] };
    const answers = await sendBytes(place.url, bytesOf(shape, place) + lastRequest(place.url));
    expect([statusesOf(answers), notes]).toEqual([[100, 200, 405], ['seen']]);
  });

  test('lists the supported methods for an unsupported one, without a body for HEAD [HTTP-01]', async () => {
    const place = await serveNotes();
    for (const method of ['HEAD', 'OPTIONS']) {
      const shape = {
        line: `${method} /mcp HTTP/1.1`,
        framing: ['Content-Length: 0', 'Connection: close'],
        sent: '',
      };
      const [head = '', text] = (await sendBytes(place.url, bytesOf(shape, place))).split(
        '\r\n\r\n',
      );
      expect(head.toLowerCase()).toContain('allow: get, post, delete');
      expect(head).toMatch(/content-length: [1-9]/i);
      expect(text === '').toBe(method === 'HEAD');
    }
  });
});
