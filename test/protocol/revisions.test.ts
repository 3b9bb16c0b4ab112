import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  latestRevision,
  negotiateRevision,
  supportedVersions,
} from '../../src/protocol/revisions/registry.ts';

describe('negotiation', () => {
  test('knows the four revisions with a handshake, newest first', () => {
    expect(supportedVersions).toEqual(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']);
  });

  test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'answers %s with itself',
    (version) => {
      expect(negotiateRevision(version).version).toBe(version);
    },
  );

  test.each(['', '2026-07-28', '2025-11-25 ', '2025-11', 'draft', '__proto__', 'constructor'])(
    'answers what it does not speak with the latest: %j',
    (version) => {
      expect(negotiateRevision(version)).toBe(latestRevision);
    },
  );

  test('never echoes an unknown version', () => {
    fc.assert(
      fc.property(fc.string(), (version) => {
        expect(supportedVersions).toContain(negotiateRevision(version).version);
      }),
    );
  });
});

describe('what the revisions differ in', () => {
  /** The revision that each came with. */
  const since = {
    toolAnnotations: '2025-03-26',
    audio: '2025-03-26',
    completions: '2025-03-26',
    structuredOutput: '2025-06-18',
    completionContext: '2025-06-18',
    icons: '2025-11-25',
    tasks: '2025-11-25',
    invalidArgumentsAreResults: '2025-11-25',
  } as const;
  const rows = supportedVersions.flatMap((version) =>
    Object.entries(since).map(([name, first]) => ({ version, name, isKnown: version >= first })),
  );

  test.each(rows)('$version knows $name: $isKnown', ({ version, name, isKnown }) => {
    expect(negotiateRevision(version)).toHaveProperty(name, isKnown);
  });

  test.each(supportedVersions)('%s has batches if it is 2025-03-26', (version) => {
    expect(negotiateRevision(version)).toMatchObject({
      version,
      era: 'handshake',
      batches: version === '2025-03-26',
    });
  });
});
