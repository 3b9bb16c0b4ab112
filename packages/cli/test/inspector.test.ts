import { expect, test } from 'vitest';
import { readInspectorSettings } from '../src/inspector.ts';

test.each([
  ['stately', { kind: 'stately', port: 8080 }],
  ['stately:9000', { kind: 'stately', port: 9000 }],
])('--inspect=%s asks for the official inspector', (value, wish) => {
  expect(readInspectorSettings(value)).toEqual(wish);
});

test.each(['stately:', 'stately:0', 'stately:65536', 'stately9000', 'Stately', 'stately:x'])(
  '--inspect=%s is refused',
  (value) => {
    expect(() => readInspectorSettings(value)).toThrow('--inspect must be a port from 1 to 65535');
  },
);
