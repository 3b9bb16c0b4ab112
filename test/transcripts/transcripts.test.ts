/**
 * Plays every `*.jsonl` of this folder. They are of one format, which docs/maintaining/recording-format.md describes: transcripts are written by hand and played with the
 * handlers below, over both transports; recordings have a header and need no handlers.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createMcpServer, memory } from 'mcp-actors';
import { readRecordingFile } from 'mcp-actors/recording';
import type { TranscriptConnection } from '../../packages/recording/src/replay/playback.ts';
import { ScriptedPeer, expectReplay } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { officialSchemas } from '../contract/official-schemas.ts';
import { echo, tool } from '../contract/serving.ts';
import { streams } from '../contract/stream-wire.ts';

const features = {
  name: 'transcribed',
  version: '1.0.0',
  tools: [
    echo,
    tool('capabilities', (_, { client }) => JSON.stringify(client.capabilities)),
    tool('roots', async (_, context) => {
      const { roots } = await context.roots();
      return JSON.stringify(roots.map(({ uri }) => uri));
    }),
    tool('hold', (_, { signal }) => new Promise((__, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    })),
  ],
};

const folder = import.meta.dirname;
const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).sort();
const files = await Promise.all(
  names.map(async (file) => {
    const path = join(folder, file);
    const { about = file, header } = await readRecordingFile(path);
    return { file, path, about, isRecorded: header !== undefined };
  }),
);
const transcripts = files.filter(({ isRecorded }) => !isRecorded);
const recordings = files.filter(({ isRecorded }) => isRecorded);

/** A connection whose frames are all checked against the official schemas. */
function checked(connection: TranscriptConnection) {
  const { transport, peer } = connection;
  const checker = new ScriptedPeer(peer, { check: officialSchemas });
  const sendRaw = (chunk: string | Uint8Array) => {
    const lines = String(chunk).split('\n').filter((line) => line.trim() !== '');
    try {
      checker.send(...lines.map((line) => JSON.parse(line) as unknown));
    } catch {
      checker.sendRaw(chunk);
    }
  };
  return { connection: { transport, peer: { ...peer, sendRaw, end: () => peer.end() } }, checker };
}

/** With its title, whole: it cites rows at its end, and `$about` would be cut. */
function titled<T extends { readonly file: string; readonly about: string }>(each: T) {
  return [`${each.file}: ${each.about}`, each] as const;
}

describe.each([
  ['memory', memory],
  ['stdio', streams],
] as const)('transcripts over %s', (_, connect) => {
  test.each(transcripts.map(titled))('%s', async (_title, { path }) => {
    const { connection, checker } = checked(connect());
    await expectReplay(path, { server: createMcpServer(features), connection });
    expect(checker.violations).toEqual([]);
  });
});

describe('recordings', () => {
  test.each(recordings.map(titled))('%s', async (_title, { path }) => {
    expect(await expectReplay(path)).toMatchObject({ note: undefined });
  });
});
