/** What a host's options come to before anything is sent. */
import { describe, expect, test } from 'vitest';
import { Answers } from '../src/asked/answers.ts';
import type { Providers } from '../src/asked/providers.ts';
import type { ChannelKind } from '../src/channel/channel-kind.ts';
import { httpRestart, processRestart } from '../src/channel/restart-option.ts';
import { connectionInput } from '../src/connect-options.ts';
import { Envelopes, withEnvelope } from '../src/connection/enveloped.ts';
import { ConnectionScope, withClientEnvelope } from '../src/connection/connection-scope.ts';
import type { ConnectionParts } from '../src/connection/connection-scope.ts';
import { setupOf } from '../src/connection/connection-setup.ts';
import { rememberEra } from '../src/connection/era.ts';
import type { ServerEntry } from '../src/connection/options.ts';
import type { FramesToSend } from '../../../src/machines/peer-ports.ts';
import type { JsonObject, OutboundFrame } from '../../../src/protocol/frames.ts';

const kindWith = (members: Partial<ChannelKind> = {}): ChannelKind => ({
  name: 'own',
  shows: 'answer',
  restart: httpRestart,
  logic: () => {
    throw new Error('nothing is opened');
  },
  ...members,
});
const answersOf = (providers: Providers = {}, given?: JsonObject) =>
  new Answers(providers, { report: () => {}, asked: () => {}, withdrawn: () => {} }, given);

describe('the setup of a connection', () => {
  const setup = (
    options: Omit<Parameters<typeof setupOf>[0], 'kind'> = {},
    kind = kindWith(),
    answers = answersOf(),
  ) => setupOf({ kind, ...options }, answers);

  test('has the name and the times of its kind, or those that are given', () => {
    expect(setup()).toMatchObject({ name: 'own', shows: 'answer', restart: httpRestart });
    expect(setup({ name: 'other', restart: 'none' })).toMatchObject({
      name: 'other',
      restart: 'none',
    });
    const restart = { maxAttempts: 2 };
    expect(setup({ restart }).restart).toEqual({ ...httpRestart, ...restart });
    const once = kindWith({ restart: 'none' });
    expect(setup({}, once).restart).toBe('none');
    expect(setup({ restart }, once).restart).toEqual({ ...processRestart, ...restart });
  });

  test('has the era that is wanted, or what is known of it', () => {
    const kind = kindWith({ eraKey: 'a server of setup.test' });
    expect(setup({}, kind).era).toEqual({ kind: 'unknown' });
    rememberEra(kind.eraKey, { kind: 'legacy', by: 'memory' });
    expect(setup({}, kind).era).toEqual({ kind: 'legacy', by: 'memory' });
    expect(setup({}, kind)).not.toHaveProperty('wanted');
    expect(setup({ era: 'modern' }, kind)).toMatchObject({
      era: { kind: 'modern' },
      wanted: 'modern',
    });
    rememberEra(kind.eraKey, { kind: 'unknown' });
    expect(setup({ era: 'legacy' }, kind)).toMatchObject({
      era: { kind: 'legacy', by: 'host' },
      wanted: 'legacy',
    });
  });

  test('declares tasks to a modern server, unless the host answers everything itself', () => {
    const [tasks, other] = ['io.modelcontextprotocol/tasks', 'example/other'];
    const extensions = { [other]: { a: 1 } };
    const answers = answersOf({ roots: [] }, { extensions });
    expect(setup({}, kindWith(), answers)).toMatchObject({
      methods: ['roots/list'],
      capabilities: {
        legacy: { roots: { listChanged: true }, extensions },
        modern: { roots: {}, extensions: { [tasks]: {}, ...extensions } },
      },
    });
    expect(setup().capabilities.modern).toEqual({ extensions: { [tasks]: {} } });
    const raw = answersOf({ onRequest: () => ({}) }, { extensions });
    expect(setup({}, kindWith(), raw).capabilities).toEqual({
      legacy: { extensions },
      modern: { extensions },
    });
  });
});

test('the secrets by which a server is reached are known to what must hide them', () => {
  const secretsOf = (entry: ServerEntry) => connectionInput(entry, {}, kindWith()).kind.secrets;
  const env = { API_TOKEN: 'open-sesame' };
  expect(secretsOf({ command: 'x', env })).toEqual(['open-sesame']);
  expect(secretsOf({ transport: () => ({}), env } as never)).toEqual([]);
});

describe('an envelope', () => {
  const info = { name: 'host', version: '7' };
  const envelopes = () => new Envelopes({ info, capabilities: (era) => ({ roots: { era } }) });
  const meta = (name: string) => `io.modelcontextprotocol/${name}`;

  test('says the revision, the host and its level, as they are now', () => {
    const made = envelopes();
    const plain = {
      [meta('protocolVersion')]: 'r1',
      [meta('clientInfo')]: info,
      [meta('clientCapabilities')]: { roots: { era: 'modern' } },
    };
    expect(made.of('r1', undefined)).toStrictEqual(plain);
    expect(made.of('r1', undefined)).toBe(made.of('r1', undefined));
    const leveled = { ...plain, [meta('logLevel')]: 'debug' };
    expect(made.of('r1', 'debug')).toStrictEqual(leveled);
    expect(made.of('r1', 'debug')).toBe(made.of('r1', 'debug'));
    expect(made.of('r1', undefined)).toStrictEqual(plain);
    expect(made.of('r2', undefined)).toMatchObject({ [meta('protocolVersion')]: 'r2' });
  });

  test('is put on requests to a modern server, which gets no answers', () => {
    const event = (...frames: readonly object[]) =>
      ({ type: 'frames.send', frames: [...frames] }) as unknown as FramesToSend;
    const sentTo = (era: string, given: FramesToSend) => {
      const profile = { era, revision: '2026-07-28' };
      const scope = new ConnectionScope({
        actor: { getSnapshot: () => ({ value: { ready: 'fresh' }, context: { profile } }) },
        host: { info, capabilities: () => ({}) },
        logLevel: () => 'debug',
        kind: kindWith({ logic: () => ({}) as never }),
      } as unknown as ConnectionParts);
      return withClientEnvelope({ scope }, given);
    };
    const [request, answer] = [
      { jsonrpc: '2.0', id: 1, method: 'x' },
      { jsonrpc: '2.0', id: 's1', result: {} },
    ];
    const enveloped = { ...request, params: { _meta: { [meta('logLevel')]: 'debug' } } };
    expect(sentTo('legacy', event(request, answer)).frames).toEqual([request, answer]);
    expect(sentTo('modern', event(request, answer)).frames).toMatchObject([enveloped]);
    expect(sentTo('modern', event(answer, request)).frames).toHaveLength(1);
    const asked = event(request);
    expect(sentTo('modern', asked)).toBe(asked);
    expect(asked.frames).toMatchObject([enveloped]);
  });

  test('is that of a request, whose own members win', () => {
    const envelope = { a: 1, b: 1 };
    const jsonrpc = '2.0';
    const request = { jsonrpc, id: 1, method: 'x' };
    const enveloped = (frame: object) => withEnvelope(frame as OutboundFrame, envelope);
    expect(enveloped({ ...request, params: { c: 1, _meta: { b: 2 } } })).toEqual({
      ...request,
      params: { c: 1, _meta: { a: 1, b: 2 } },
    });
    expect(enveloped(request)).toEqual({ ...request, params: { _meta: envelope } });
    for (const frame of [
      { jsonrpc, method: 'notifications/x' },
      { jsonrpc, id: 1, result: {} },
    ]) {
      expect(enveloped(frame)).toBe(frame);
    }
  });
});
