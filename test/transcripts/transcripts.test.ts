/**
 * Plays `*.jsonl`: what a client sends and what it must be answered, in this order and nothing else.
 *
 * - `about`: what the transcript shows.
 * - `client`: messages, sent as one chunk. `raw`: text as it is. `end`: the end of the input.
 * - `server`: the next frame, in the members that are given. `closed`: why the session ended.
 * - A text `$name` stands for an id of the server's: what it is the first time, it is from then on.
 */
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { turn } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { echo, serve, tool } from '../contract/serving.ts';

type Step =
  | { readonly about: string }
  | { readonly client: readonly unknown[] }
  | { readonly raw: string }
  | { readonly server: unknown }
  | { readonly end: true }
  | { readonly closed: string };

const features = {
  name: 'transcribed',
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

/** The ids of the server's, by their names in a transcript. */
class Names {
  readonly #ids = new Map<string, unknown>();

  /** What is sent: names are replaced by what they stand for. */
  fill(value: unknown): unknown {
    return this.#map(value, (name) => this.#ids.get(name));
  }

  /** What is expected: a name that stands for nothing yet is taken from what came. */
  expect(expected: unknown, got: unknown): unknown {
    const id = (expected as { readonly id?: unknown }).id;
    if (typeof id === 'string' && id.startsWith('$') && !this.#ids.has(id)) {
      this.#ids.set(id, (got as { readonly id?: unknown }).id);
    }
    return this.fill(expected);
  }

  #map(value: unknown, replace: (name: string) => unknown): unknown {
    if (typeof value === 'string') return value.startsWith('$') ? replace(value) : value;
    if (Array.isArray(value)) return value.map((item) => this.#map(item, replace));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, this.#map(item, replace)]),
    );
  }
}

async function play(steps: readonly Step[], transport: 'memory' | 'stdio'): Promise<void> {
  const { peer, session } = serve(features, { transport });
  const names = new Names();
  let read = 0;
  const next = async () => {
    // A frame that is due needs a few turns, where a module is loaded some more; one that never comes is found missing.
    for (let turns = 0; turns < 1000 && peer.received.length <= read; turns++) await turn();
    return peer.received[read++];
  };
  for (const step of steps) {
    if ('client' in step) peer.send(...step.client.map((message) => names.fill(message)));
    else if ('raw' in step) peer.sendRaw(step.raw);
    else if ('end' in step) peer.end();
    else if ('closed' in step) expect((await session.closed).kind).toBe(step.closed);
    else if ('server' in step) {
      const frame = await next();
      expect(frame).toMatchObject(names.expect(step.server, frame) as object);
    }
    await turn();
  }
  expect(peer.received.slice(read)).toEqual([]);
}

const folder = import.meta.dirname;
const files = (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).sort();
const transcripts = await Promise.all(
  files.map(async (file) => {
    const text = await readFile(join(folder, file), 'utf8');
    const steps = text.trim().split('\n').map((line) => JSON.parse(line) as Step);
    const [first] = steps;
    return { file, about: first && 'about' in first ? first.about : file, steps };
  }),
);

describe.each(['memory', 'stdio'] as const)('transcripts over %s', (transport) => {
  test.each(transcripts)('$file: $about', ({ steps }) => play(steps, transport));
});
