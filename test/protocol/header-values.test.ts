import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeHeaderValue, encodeHeaderValue } from '../../src/protocol/header-values.ts';

describe('a header value', () => {
  test.each([
    ['us-west1', 'us-west1'],
    ['file:///a b.txt', 'file:///a b.txt'],
    ['', ''],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
    ['\ttab', '=?base64?CXRhYg==?='],
  ])('encodes %j as %j', (text, value) => {
    expect(encodeHeaderValue(text)).toBe(value);
  });

  test('decodes to the original of any text, and fits into a header', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
        const value = encodeHeaderValue(text);
        expect(new Headers({ value }).get('value')).toBe(value);
        expect(value).toMatch(/^[\t\x20-\x7e]*$/);
        expect(decodeHeaderValue(value)).toBe(text);
      }),
    );
  });

  test.each(['=?base64?ZWNobw?=', '=?base64?/w==?=', '=?base64?a b=?='])(
    'is rejected if it is marked as base64 but is not: %j',
    (value) => {
      expect(decodeHeaderValue(value)).toBeUndefined();
    },
  );
});
