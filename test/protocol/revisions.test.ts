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
  const rows = [
    ['2024-11-05', false, false, false, false],
    ['2025-03-26', true, true, false, false],
    ['2025-06-18', false, true, true, false],
    ['2025-11-25', false, true, true, true],
  ] as const;
  test.each(rows)(
    '%s: batches %s, annotations %s, structured output %s, invalid arguments as results %s',
    (version, batches, toolAnnotations, structuredOutput, invalidArgumentsAreResults) => {
      expect(negotiateRevision(version)).toEqual({
        version,
        era: 'handshake',
        batches,
        toolAnnotations,
        structuredOutput,
        invalidArgumentsAreResults,
      });
    },
  );
});
