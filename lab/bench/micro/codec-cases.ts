/** Decoding and encoding of frames, and splitting of bytes into lines. */
import { LineSplitter } from '../../../src/actors/reader/line-splitter.ts';
import { decodeLine, encodeFrame } from '../../../src/protocol/codec.ts';
import type { MicroCase } from './micro-case.ts';
import type { InboundRequestId } from '../../../src/protocol/frames.ts';

const maxDepth = 256;
const maxLineBytes = 16 * 1024 * 1024;

const line = (message: object): string => JSON.stringify({ jsonrpc: '2.0', ...message });

const pingLine = line({ id: 7, method: 'ping' });
const callLine = line({
  id: 7,
  method: 'tools/call',
  params: { name: 'echo', arguments: { text: 'text number 7' } },
});
const longLine = line({
  id: 7,
  method: 'tools/call',
  params: { name: 'echo', arguments: { text: 'x'.repeat(1024 * 1024) } },
});

const perChunk = 500;
const chunk = Buffer.from(`${callLine}\n`.repeat(perChunk));
const longChunks = chunksOf(Buffer.from(`${longLine}\n`), 64 * 1024);

const unserializable = (): void => {
  throw new Error('everything here can be written as JSON');
};

export const codecCases: readonly MicroCase[] = [
  {
    name: `reader: splits a chunk of ${perChunk} lines`,
    messages: perChunk,
    run: () => new LineSplitter(maxLineBytes).push(chunk),
  },
  {
    name: 'reader: puts 1 MiB together from chunks of 64 KiB',
    messages: 1,
    run: () => {
      const splitter = new LineSplitter(maxLineBytes);
      return longChunks.map((piece) => splitter.push(piece));
    },
  },
  {
    name: 'codec: JSON.parse alone, a ping',
    messages: 1,
    run: () => JSON.parse(pingLine) as unknown,
  },
  { name: 'codec: decodes a ping', messages: 1, run: () => decodeLine(pingLine, maxDepth) },
  {
    name: 'codec: JSON.parse alone, a call',
    messages: 1,
    run: () => JSON.parse(callLine) as unknown,
  },
  { name: 'codec: decodes a call', messages: 1, run: () => decodeLine(callLine, maxDepth) },
  {
    name: 'codec: decodes a call of 1 MiB',
    messages: 1,
    run: () => decodeLine(longLine, maxDepth),
  },
  {
    name: 'codec: encodes a result',
    messages: 1,
    run: () =>
      encodeFrame(
        {
          jsonrpc: '2.0',
          id: 7 as InboundRequestId,
          result: { content: [{ type: 'text', text: 'text number 7' }] },
        },
        unserializable,
      ),
  },
];

function chunksOf(bytes: Buffer, size: number): readonly Buffer[] {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}
