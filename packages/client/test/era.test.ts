/** What a server's answers to the first request say of it. */
import { describe, expect, test } from 'vitest';
import {
  knownEra,
  readDiscovery,
  readGreeting,
  readProbeError,
  rememberEra,
} from '../src/connection/era.ts';
import { anonymous } from '../../../src/protocol/implementation.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';

const serverInfo = { name: 's', version: '1' };
const described = { 'io.modelcontextprotocol/serverInfo': serverInfo };
const capabilities = { tools: {} };
const refused = (code: string, message: string) => ({
  era: 'refused',
  error: expect.objectContaining({ code, message: expect.stringContaining(message) as string }),
});

describe('an answer to server/discover', () => {
  const modern = { supportedVersions: ['2025-11-25', '2026-07-28'], capabilities };

  test('describes a modern server, and nothing that it does not say', () => {
    const profile = { era: 'modern', revision: '2026-07-28', info: serverInfo, capabilities };
    expect(readDiscovery({ ...modern, _meta: described })).toStrictEqual({
      era: 'modern',
      profile,
    });
    expect(readDiscovery({ ...modern, _meta: described, instructions: 'Read me' })).toStrictEqual({
      era: 'modern',
      profile: { ...profile, instructions: 'Read me' },
    });
    for (const odd of [
      {},
      { _meta: null },
      { _meta: { ...described, [Object.keys(described)[0] ?? '']: 7 } },
    ]) {
      expect(readDiscovery({ ...modern, ...odd, instructions: 7 })).toStrictEqual({
        era: 'modern',
        profile: { ...profile, info: anonymous },
      });
    }
  });

  test.each<[JsonObject, object]>([
    [{}, { era: 'legacy' }],
    [{ supportedVersions: ['2025-11-25'], capabilities }, { era: 'legacy' }],
    [{ supportedVersions: ['2026-07-28'] }, refused('PROTOCOL_VIOLATION', 'must have "supported')],
    [{ capabilities }, refused('PROTOCOL_VIOLATION', 'must have "supportedVersions"')],
    [{ ...modern, capabilities: 7 }, refused('PROTOCOL_VIOLATION', 'must have "supported')],
    [{ ...modern, supportedVersions: '2026-07-28' }, refused('PROTOCOL_VIOLATION', 'must have')],
    [
      { ...modern, supportedVersions: ['2026-07-28', 7] },
      refused('PROTOCOL_VIOLATION', 'must have'),
    ],
    [{ supportedVersions: ['2099-01-01'], capabilities }, refused('VERSION_UNSUPPORTED', '2099')],
  ])('%j means %j', (result, reading) => {
    expect(readDiscovery(result)).toEqual(reading);
  });

  test.each<[code: number, data: unknown, reading: object]>([
    [-32_022, { supported: ['2026-07-28'] }, { era: 'again', revision: '2026-07-28' }],
    [-32_022, { supported: ['2025-11-25'] }, { era: 'legacy' }],
    [-32_022, { supported: ['2099-01-01'] }, refused('VERSION_UNSUPPORTED', '2099-01-01')],
    [
      -32_022,
      { supported: '2026-07-28' },
      refused('PROTOCOL_VIOLATION', 'must list the supported versions: No'),
    ],
    [-32_022, undefined, refused('PROTOCOL_VIOLATION', 'must list the supported versions: No')],
    [-32_021, undefined, refused('PROTOCOL_VIOLATION', 'rejected server/discover: -32021 No')],
    [-32_020, undefined, refused('PROTOCOL_VIOLATION', 'rejected server/discover: -32020 No')],
    [-32_601, undefined, { era: 'legacy' }],
  ])('that is the error %i with %j means %j', (code, data, reading) => {
    expect(readProbeError({ code, message: 'No', data })).toEqual(reading);
  });
});

describe('an answer to initialize', () => {
  const greeting = { protocolVersion: '2025-11-25', capabilities, serverInfo };

  test('describes the server, and nothing that it does not say', () => {
    const profile = { era: 'legacy', revision: '2025-11-25', info: serverInfo, capabilities };
    for (const [said, instructions] of [
      [{}],
      [{ instructions: 7 }],
      [{ instructions: 'Hi' }, 'Hi'],
    ] as const) {
      expect(readGreeting({ ...greeting, ...said })).toStrictEqual({
        ok: true,
        profile: { ...profile, ...(instructions === undefined ? {} : { instructions }) },
      });
    }
  });

  test.each<[JsonObject, code: string, message: string]>([
    [{ protocolVersion: undefined }, 'PROTOCOL_VIOLATION', 'must have "protocolVersion"'],
    [{ capabilities: 7 }, 'PROTOCOL_VIOLATION', 'must have "protocolVersion" and "capabilities"'],
    [{ protocolVersion: '2026-07-28' }, 'VERSION_UNSUPPORTED', '2026-07-28'],
    [{ serverInfo: { name: 's' } }, 'PROTOCOL_VIOLATION', '"serverInfo.version" must be'],
  ])('that says %j is refused: %s', (said, code, message) => {
    expect(readGreeting({ ...greeting, ...said })).toEqual({
      ok: false,
      error: expect.objectContaining({ code, message: expect.stringContaining(message) as string }),
    });
  });
});

test('what is known of a server is kept by its key, until it is doubted', () => {
  const legacy = { kind: 'legacy', by: 'memory' } as const;
  rememberEra('a server of era.test', legacy);
  rememberEra(undefined, legacy);
  expect(knownEra('a server of era.test')).toBe(legacy);
  expect(knownEra(undefined)).toEqual({ kind: 'unknown' });
  rememberEra('a server of era.test', { kind: 'unknown' });
  expect(knownEra('a server of era.test')).toEqual({ kind: 'unknown' });
});
