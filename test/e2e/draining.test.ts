/** Streams of calls running at a SIGTERM, in a separate process. */
import { afterEach, describe, expect, test } from 'vitest';
import { EventReader, begin } from '../../packages/http/test/raw-client.ts';
import type { RawEvent, RawSession } from '../../packages/http/test/raw-client.ts';
import { program } from '../tooling/programs.ts';
import { launchHttp } from './http-process.ts';
import { reapServers } from './server-process.ts';

afterEach(reapServers);

const long = '60000';
const cancel = (session: RawSession) =>
  session.notify('notifications/cancelled', { requestId: 7, reason: 'not needed' });

interface Way {
  readonly tool: 'finish' | 'fail' | 'hang';
  readonly drainMs: string;
  /** The client's action once the server drains. */
  readonly meanwhile?: (session: RawSession) => Promise<unknown>;
  /** Events between the drain notification and `retry`. */
  readonly said: readonly object[];
}

const ways: readonly (readonly [string, Way])[] = [
  ['its result', { tool: 'finish', drainMs: long, said: [{ data: { id: 7, result: {} } }] }],
  [
    'the failure of its tool',
    { tool: 'fail', drainMs: long, said: [{ data: { id: 7, result: { isError: true } } }] },
  ],
  [
    'the end of the drain time',
    { tool: 'hang', drainMs: '10', said: [{ data: { id: 7, error: { code: -32_000 } } }] },
  ],
  ['its cancellation', { tool: 'hang', drainMs: long, meanwhile: cancel, said: [] }],
];

describe.each(['2025-11-25', '2025-06-18'])('a POST stream of %s', (revision) => {
  test.each(ways)('carries retry when SIGTERM ends it with %s [HTTP-06]', async (_name, way) => {
    const { server, url } = await launchHttp(program('test/e2e/draining-server.ts'), {
      env: { DRAIN_MS: way.drainMs },
    });
    const session = await begin(url, revision);
    const stream = new EventReader(await session.call(way.tool, {}, 7));
    expect((await stream.message()).data.method).toBe('test/begun');
    server.child.kill('SIGTERM');
    expect((await stream.message()).data.method).toBe('test/draining');
    await way.meanwhile?.(session);
    const rest: readonly RawEvent[] = await stream.rest();
    expect(rest).toMatchObject([...way.said, { retry: '1234' }]);
    expect(rest.at(-1)).toEqual({ retry: '1234' });
    expect((await server.exit).code).toBe(0);
  });
});
