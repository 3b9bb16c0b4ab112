/** The refusal of a Node that is too old; `npm run lab -- hosts` runs the command under real runtimes. */
import { afterEach, expect, test, vi } from 'vitest';
import { refuseOldNode } from '../src/node-version.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const refusal = (version: string) => {
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  refuseOldNode('demo', version);
  return { code: exit.mock.calls[0]?.[0], text: write.mock.calls.map(([text]) => text).join('') };
};

test.each(['18.20.8', '20.18.3'])('ends the process on Node %s with one line', (version) => {
  expect(refusal(version)).toEqual({
    code: 1,
    text: `demo needs Node 20.19 or newer, got ${version}\n`,
  });
});

test.each(['20.19.0', '22.0.0', '24.1.0'])('accepts Node %s', (version) => {
  expect(refusal(version)).toEqual({ code: undefined, text: '' });
});
