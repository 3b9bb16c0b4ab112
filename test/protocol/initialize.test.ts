import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/protocol/frames.ts';
import { readInitialize } from '../../src/protocol/initialize.ts';
import type { InitializedClient } from '../../src/protocol/initialize.ts';

const good = {
  protocolVersion: '2025-11-25',
  capabilities: { roots: {} },
  clientInfo: { name: 'host', version: '1', icons: [] },
};

const read = (params: JsonObject | undefined): InitializedClient => {
  const reading = readInitialize(params);
  if (!reading.ok) throw new Error(reading.fault);
  return reading.client;
};

describe('readInitialize', () => {
  test("returns the client's description", () => {
    expect(read(good)).toMatchObject({
      requestedVersion: '2025-11-25',
      dialect: { version: '2025-11-25' },
      info: { name: 'host', version: '1' },
      capabilities: good.capabilities,
    });
  });

  test('keeps only members that the protocol defines or authors read', () => {
    const clientInfo = {
      ...{ name: 'host', version: '1', title: 'A host', websiteUrl: 'https://host.example' },
      ...{ icons: [{ src: 'data:image/png;base64,AAAA' }], unknown: 'x'.repeat(1000), title2: 2 },
    };
    const kept = { roots: {}, sampling: { tools: {} }, elicitation: {}, tasks: {} };
    const agreed = { experimental: { own: 1 }, extensions: { 'example.com/a': {} } };
    const capabilities = { ...kept, ...agreed, unknown: 'x'.repeat(1000) };
    const { info, capabilities: known } = read({ ...good, clientInfo, capabilities, unknown: {} });
    const { name, version, title, websiteUrl } = clientInfo;
    expect(info).toEqual({ name, version, title, websiteUrl });
    expect(known).toEqual({ ...kept, ...agreed });
  });

  const pad = (length: number) => 'x'.repeat(length);
  test.each([
    ['params must have at most 65536 characters of JSON', { ...good, unknown: pad(65_536) }],
    [
      'clientInfo and capabilities together must have at most 8192 characters of JSON',
      { ...good, capabilities: { experimental: { pad: pad(8192) } } },
    ],
    ['params.protocolVersion must', { ...good, protocolVersion: pad(101) }],
  ])('rejects what is too long: %s', (fault, params) => {
    expect(readInitialize(params)).toEqual({ ok: false, fault: expect.stringContaining(fault) });
  });

  test('truncates a long name and a long version', () => {
    const { info } = read({ ...good, clientInfo: { name: pad(1000), version: pad(1000) } });
    expect([info.name, info.version]).toEqual([`${pad(256)}…`, `${pad(256)}…`]);
  });

  test('keeps only a digest of long params', () => {
    expect(read({ ...good, unknown: pad(60_000) }).fingerprint.length).toBeLessThan(40);
  });

  test('never accepts an unknown version as negotiated', () => {
    const client = read({ ...good, protocolVersion: '1999-01-01' });
    expect(client.dialect.version).toBe('2025-11-25');
    expect(client.requestedVersion).toBe('1999-01-01');
  });

  test('ignores unknown members', () => {
    expect(readInitialize({ ...good, _meta: { progressToken: 1 }, later: true }).ok).toBe(true);
  });

  const wrong: readonly (readonly [path: string, params: JsonObject | undefined])[] = [
    ['params must', undefined],
    ['params.protocolVersion must', { ...good, protocolVersion: undefined }],
    ['params.protocolVersion must', { ...good, protocolVersion: 20251125 }],
    ['params.capabilities must', { ...good, capabilities: undefined }],
    ['params.capabilities must', { ...good, capabilities: [] }],
    ['params.capabilities must', { ...good, capabilities: null }],
    ['params.clientInfo must', { ...good, clientInfo: undefined }],
    ['params.clientInfo must', { ...good, clientInfo: 'host' }],
    ['params.clientInfo.name must', { ...good, clientInfo: { version: '1' } }],
    ['params.clientInfo.name must', { ...good, clientInfo: { name: 1, version: '1' } }],
    ['params.clientInfo.version must', { ...good, clientInfo: { name: 'host' } }],
    ['params.clientInfo.version must', { ...good, clientInfo: { name: 'host', version: null } }],
  ];
  test.each(wrong)('names the path of the fault: %s', (path, params) => {
    const reading = readInitialize(params);
    expect(reading).toEqual({ ok: false, fault: expect.stringContaining(path) as string });
    if (!reading.ok) expect(reading.fault.length).toBeLessThan(200);
  });

  test('treats a "__proto__" key as an ordinary one', () => {
    const text =
      '{"protocolVersion":"x","capabilities":{"__proto__":{"roots":{}}},"clientInfo":{"name":"n","version":"1","__proto__":{"admin":true}}}';
    const client = read(JSON.parse(text) as JsonObject);
    expect(client.capabilities['roots']).toBeUndefined();
    expect(client.info['admin']).toBeUndefined();
  });
});

describe('the fingerprint of initialize', () => {
  test('is equal for identical params', () => {
    expect(read(structuredClone(good)).fingerprint).toBe(read(good).fingerprint);
  });

  test.each([
    ['other params', { ...good, capabilities: {} }],
    ['more params', { ...good, extra: 1 }],
  ])('differs with %s', (_, params) => {
    expect(read(params).fingerprint).not.toBe(read(good).fingerprint);
  });
});
