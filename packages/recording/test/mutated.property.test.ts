/** Whatever is done to a recording: it is played, or refused with the line that is wrong. */
import { createMcpServer, memory } from 'mcp-actors';
import { connect } from 'mcp-actors/client';
import { RecordingError, readRecording, recordConnection, replay } from 'mcp-actors/recording';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { toSdkTransport } from '../../../src/transports/to-sdk-transport.ts';
import { echo } from '../../../test/contract/serving.ts';

const transcript = (name: string) =>
  readFileSync(new URL(`../../../test/transcripts/${name}.jsonl`, import.meta.url), 'utf8');
const texts = [transcript('recorded-echo'), transcript('recorded-stale-roots')];

beforeAll(async () => {
  const server = createMcpServer({ name: 'recorded', version: '1.0.0', tools: [echo] });
  const { transport, peer } = memory();
  server.listen(transport, { report: () => {} });
  let text = '';
  const record = recordConnection({ write: (more) => (text += more) });
  const connection = await connect({ transport: toSdkTransport(peer) }, { record });
  await connection.callTool('echo', { text: 'hi' });
  await connection.close();
  record.flush();
  texts.push(text);
});

/** Values that hardly any member may have. */
const wrong = fc.constantFrom<unknown>(
  ...[undefined, null, -1, 0, 1.5, 1e21, '', 'x', '__proto__', true, [], [null], {}, { a: [] }],
);
const mutation = fc.record({
  text: fc.nat(2),
  line: fc.nat(99),
  other: fc.nat(99),
  how: fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('member' as const), value: wrong }) },
    ...(['swapped', 'deleted', 'doubled', 'cut'] as const).map((kind) =>
      fc.record({ kind: fc.constant(kind) }),
    ),
  ),
  /** Which member, and how deep below it. */
  path: fc.array(fc.nat(50), { minLength: 1, maxLength: 5 }),
});

function mutated({
  text,
  line,
  other,
  how,
  path,
}: Parameters<Parameters<typeof mutation.map>[0]>[0]) {
  const rows = (texts[text] ?? '').trimEnd().split('\n');
  const at = line % rows.length;
  const row = rows[at] ?? '';
  switch (how.kind) {
    case 'member':
      return rows.with(at, JSON.stringify(withMember(JSON.parse(row), path, how.value)));
    case 'swapped':
      return rows.with(at, rows[other % rows.length] ?? '').with(other % rows.length, row);
    case 'deleted':
      return rows.toSpliced(at, 1);
    case 'doubled':
      return rows.toSpliced(at, 0, row);
    case 'cut':
      return [...rows.slice(0, at), row.slice(0, other)];
  }
}

/** The same with one member, at this path or as deep as it goes, that is something else. */
function withMember(
  value: unknown,
  [first = 0, ...rest]: readonly number[],
  wanted: unknown,
): unknown {
  if (typeof value !== 'object' || value === null) return wanted;
  const entries = Object.entries(value);
  const [name, item] = entries[first % Math.max(1, entries.length)] ?? [];
  if (name === undefined) return wanted;
  const changed = rest.length === 0 ? wanted : withMember(item, rest, wanted);
  return Array.isArray(value) ? value.with(Number(name), changed) : { ...value, [name]: changed };
}

test('replays a mutated recording, or rejects it with the line', async () => {
  await fc.assert(
    fc.asyncProperty(mutation, async (change) => {
      const rows = mutated(change);
      try {
        // A line that is wrong in itself, or a header of which nothing can be made.
        await replay(readRecording(`${rows.join('\n')}\n`, 'it'), { patienceMs: 100 });
      } catch (error) {
        expect(error).toBeInstanceOf(RecordingError);
        expect((error as Error).message).toMatch(/^it:\d+: \S/);
      }
    }),
    { numRuns: 1500 },
  );
});

test.each([
  ['limits', { maxRunning: -1 }, 'limits.maxRunning must be a number of at least 1, got -1'],
  ['limits', { maxLineBytes: -1 }, 'limits.maxLineBytes must be a number of at least 0'],
  ['server', { serverInfo: {}, capabilities: {} }, '"name" of a server must be a string'],
  [
    'server',
    { serverInfo: { name: 'a', version: 1 }, capabilities: {} },
    '"version" of the server',
  ],
])('rejects a header whose %s is %j by name', async (member, value, fault) => {
  const [header = '{}', ...rows] = transcript('recorded-echo').split('\n');
  const spoilt = JSON.stringify({ ...(JSON.parse(header) as object), [member]: value });
  await expect(replay(readRecording([spoilt, ...rows].join('\n'), 'it'))).rejects.toThrow(
    `it:1: the header of the recording: ${fault}`,
  );
});
