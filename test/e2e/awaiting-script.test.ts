/**
 * Scripts that await something while only a session keeps the process alive. Node exits with 13 if
 * a script awaits something that cannot happen.
 */
import { afterEach, describe, expect, test } from 'vitest';
import { program } from '../tooling/programs.ts';
import { launch, reapServers } from './server-process.ts';

afterEach(reapServers);

const script = (what: string, over: string) =>
  launch([...program('test/e2e/awaiting-script.ts'), what, over]);

describe.each(['memory', 'SDK transport'])('a script over %s', (over) => {
  test.each([
    ['ask', [{ ask: 'REQUEST_TIMEOUT' }, { kind: 'shutdown' }]],
    ['ping', [{ ping: 'REQUEST_TIMEOUT' }]],
    ['roots', [{ roots: 'failed' }]],
    ['hang', [{ kind: 'shutdown' }]],
  ])('can await what depends on a timer of the session alone: %s', async (what, lines) => {
    const { exit, log } = script(what, over);
    expect(await exit).toEqual({ code: 0, signal: null });
    expect(log.all).toEqual(lines);
  });

  test('can await the end of a session that a signal ends', async () => {
    const { child, exit, log } = script('signal', over);
    await log.find(({ ready }) => ready === true);
    child.kill('SIGTERM');
    expect(await exit).toEqual({ code: 0, signal: null });
    expect(log.all).toContainEqual({ kind: 'shutdown' });
  });

  test('exits if it awaits nothing, even with an open session', async () => {
    expect(await script('nothing', over).exit).toEqual({ code: 0, signal: null });
  });
});
