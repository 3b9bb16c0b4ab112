/** Requests that want a login: who is asked for it, and what becomes of them. */
import { describe, expect, test } from 'vitest';
import { chartActor } from '../../../../src/actors/transitions.ts';
import { httpChannelChart } from '../../src/http/http-channel.machine.ts';
import type {
  Challenge,
  ChallengeOutcome,
  HttpAuthorization,
} from '../../src/http/authorization.ts';
import { flush } from 'mcp-actors/testing';
import { HttpHost, errorOf } from './http-host.ts';
import { Poured, anywhere, greetedIn, resultOf, scriptedFetch } from './scripted-fetch.ts';
import { greeted, scriptedServer } from './scripted-server.ts';
import type { Scripted } from './scripted-server.ts';

/** Says what the last of these outcomes is, and notes what it was asked. */
class Logins implements HttpAuthorization {
  readonly challenges: Challenge[] = [];
  token = 'old';
  begun = 0;
  readonly #outcome: (challenge: Challenge) => ChallengeOutcome | Promise<ChallengeOutcome>;

  constructor(outcome: (challenge: Challenge) => ChallengeOutcome | Promise<ChallengeOutcome>) {
    this.#outcome = outcome;
  }

  begin(): void {
    this.begun++;
  }

  close(): void {}

  headers(): Record<string, string> {
    return { authorization: `Bearer ${this.token}` };
  }

  async challenged(challenge: Challenge): Promise<ChallengeOutcome> {
    this.challenges.push(challenge);
    return this.#outcome(challenge);
  }
}

const wants = (token: string, script: (asked: Scripted) => unknown) => (asked: Scripted) => {
  if (asked.headers['authorization'] === `Bearer ${token}`) return script(asked);
  return asked.response.writeHead(401, { 'www-authenticate': 'Bearer realm="x"' }).end();
};

describe('a login', () => {
  test('that is wanted while connecting is told, and then the request goes on', async () => {
    const server = await scriptedServer(wants('new', (asked) => asked.result()));
    const authorization: Logins = new Logins(() => {
      authorization.token = 'new';
      return { kind: 'retry' };
    });
    const headers = { Authorization: 'Bearer of the entry' };
    const host = new HttpHost(
      { url: server.url.href, headers },
      { authorization: () => authorization },
    );
    expect(await host.ask('server/discover')).toEqual({ kind: 'result', result: {} });
    expect(host.reports.all.map(({ type }) => type)).toEqual([
      'channel.opened',
      'channel.challenged',
      'channel.authorized',
    ]);
    expect(authorization.begun).toBe(1);
    expect(authorization.challenges).toMatchObject([
      {
        status: 401,
        wwwAuthenticate: 'Bearer realm="x"',
        url: server.url.href,
        sent: { authorization: 'Bearer old' },
        retries: 0,
        signal: expect.any(AbortSignal) as AbortSignal,
      },
    ]);
  });

  test('that is wanted later makes its request alone wait', async () => {
    const server = await scriptedServer((asked) =>
      greeted(asked) || asked.message?.method !== 'tools/call'
        ? asked.response.writableEnded || asked.result()
        : wants('new', () => asked.result())(asked),
    );
    let goOn: (outcome: ChallengeOutcome) => void = () => {};
    const authorization = new Logins(
      () =>
        new Promise((resolve) => {
          goOn = resolve;
        }),
    );
    const host = new HttpHost({ url: server.url.href }, { authorization: () => authorization });
    await host.greet();
    const call = host.request('tools/call', { name: 'x' });
    await server.next(({ message }) => message?.method === 'tools/call');
    expect(await host.request('ping')).toMatchObject({ kind: 'result' });
    authorization.token = 'new';
    goOn({ kind: 'retry' });
    expect(await call).toMatchObject({ kind: 'result' });
    expect(host.reports.all.map(({ type }) => type)).toEqual(['channel.opened']);
  });

  test.each<[what: string, status: number, header: string]>([
    ['no login', 401, 'Bearer'],
    ['one that may do too little', 403, 'Bearer error="insufficient_scope", scope="a"'],
  ])('that is refused fails its request (%s)', async (_, status, header) => {
    const server = await scriptedServer((asked) => {
      asked.response.writeHead(status, { 'www-authenticate': header }).end();
    });
    const error = new Error('nobody has logged in');
    const authorization = new Logins(() => ({ kind: 'refused', error }));
    const host = new HttpHost({ url: server.url.href }, { authorization: () => authorization });
    const failure = errorOf(await host.ask('server/discover'));
    expect(failure).toMatchObject({ code: 'UNAUTHORIZED', status, cause: error });
    expect(failure.message).toContain('nobody has logged in');
    expect(await host.told('channel.lost')).toMatchObject({
      loss: { kind: 'unauthorized', error: failure },
    });
  });

  test('that several requests want is told once, and that there is one when all of them go on', async () => {
    const goOn: (() => void)[] = [];
    const authorization: Logins = new Logins(
      () =>
        new Promise((resolve) => {
          goOn.push(() => resolve({ kind: 'retry' }));
        }),
    );
    const refusals = [new Poured(), new Poured()];
    let nth = 0;
    const { fetch } = scriptedFetch(
      (asked) => refusals[nth++]?.answer('text/plain', 401) ?? resultOf(asked),
    );
    const host = new HttpHost(anywhere, { fetch, authorization: () => authorization });
    const types = () => host.reports.all.map(({ type }) => type);
    const asks = [host.ask('server/discover'), host.ask('tools/list')];
    await Promise.all(refusals.map(({ letGo }) => letGo));
    await flush();
    goOn[0]?.();
    await asks[0];
    expect(types()).toEqual(['channel.opened', 'channel.challenged']);
    goOn[1]?.();
    await asks[1];
    expect(types()).toEqual(['channel.opened', 'channel.challenged', 'channel.authorized']);
  });

  test.each<[what: string, outcome: ChallengeOutcome, code: string, kind: string]>([
    ['is away', { kind: 'unreachable', error: new Error('away') }, 'CLOSED', 'unreachable'],
    ['refuses', { kind: 'refused', error: new Error('away') }, 'UNAUTHORIZED', 'unauthorized'],
  ])(
    'whose server %s costs its request, and a handshake is lost',
    async (_, outcome, code, kind) => {
      const authorization = new Logins(() => outcome);
      const { fetch } = scriptedFetch(() => new Response(null, { status: 401 }));
      const host = new HttpHost(anywhere, { fetch, authorization: () => authorization });
      const error = errorOf(await host.ask('server/discover'));
      expect(error).toMatchObject({ code, cause: { message: 'away' } });
      expect(await host.told('channel.lost')).toMatchObject({ loss: { kind, error } });
    },
  );

  test('that cannot be read fails its request, which is not sent', async () => {
    const cause = new Error('no key');
    const authorization = new Logins(() => ({ kind: 'retry' }));
    authorization.headers = () => {
      throw cause;
    };
    const { fetch, asked } = scriptedFetch(resultOf);
    const host = new HttpHost(anywhere, { fetch, authorization: () => authorization });
    const error = errorOf(await host.ask('server/discover'));
    expect(error).toMatchObject({ code: 'UNAUTHORIZED', cause });
    expect(error.message).toBe('No login available: Error: no key');
    expect(host.machines.map(([id]) => id)).toEqual(['http-channel']);
    expect(await host.told('channel.lost')).toMatchObject({ loss: { kind: 'unauthorized' } });
    expect(asked).toEqual([]);
  });

  test('that cannot be read any more costs the stream of the server itself, and is shown', async () => {
    const authorization = new Logins(() => ({ kind: 'retry' }));
    const { fetch } = scriptedFetch((asked) => {
      if (asked.message?.method === 'notifications/initialized') {
        authorization.headers = () => {
          throw new Error('no key');
        };
      }
      return greetedIn('s-1', asked);
    });
    const machine = chartActor('authorization', () => httpChannelChart.initial);
    const made = () => Object.assign(authorization, { machine });
    const host = new HttpHost(anywhere, { fetch, authorization: made });
    await host.greet();
    const { message } = await host.facts.first(({ name }) => name === 'stream.absent');
    expect(message).toBe('No login available: Error: no key');
    expect(host.machines.map(([id]) => id)).toEqual(['http-channel', 'authorization']);
  });

  const scoped = 'Bearer error="insufficient_scope", scope="files:write"';

  test.each<[what: string, status: number, header: string, words: string]>([
    ['its token too little', 403, scoped, 'lacks the scope "files:write" (insufficient_scope).'],
    ['a token', 403, 'Bearer error=insufficient_scope', 'lacks a scope (insufficient_scope).'],
    ['its token', 401, 'Bearer error="invalid_token"', '"Authorization" header (invalid_token).'],
  ])('of the entry is not enough for a server that finds %s', async (_, status, header, words) => {
    const headers = { Authorization: 'Bearer of the entry' };
    const { fetch } = scriptedFetch(
      () => new Response(null, { status, headers: { 'www-authenticate': header } }),
    );
    const host = new HttpHost({ ...anywhere, headers }, { fetch });
    const error = errorOf(await host.ask('server/discover'));
    expect(error).toMatchObject({ code: 'UNAUTHORIZED', status });
    expect(error.message).toContain(words);
  });

  test('for a scope is wanted by its name', async () => {
    const { fetch } = scriptedFetch(
      () => new Response(null, { status: 401, headers: { 'www-authenticate': scoped } }),
    );
    const host = new HttpHost(anywhere, { fetch });
    const { message } = errorOf(await host.ask('server/discover'));
    expect(message).toContain('it requires a login with the scope "files:write"');
  });

  test('is asked for five times at most', async () => {
    const server = await scriptedServer(wants('none is good', () => {}));
    const authorization = new Logins(() => ({ kind: 'retry' }));
    const host = new HttpHost({ url: server.url.href }, { authorization: () => authorization });
    expect(errorOf(await host.ask('server/discover')).code).toBe('UNAUTHORIZED');
    expect(authorization.challenges.map(({ retries }) => retries)).toEqual([0, 1, 2, 3, 4]);
  });

  test('without anybody to ask for it fails the request, and says so', async () => {
    const server = await scriptedServer(wants('any', () => {}));
    const host = new HttpHost({ url: server.url.href });
    const error = errorOf(await host.ask('server/discover'));
    expect(error.message).toMatch(
      /status 401: it requires a login: set "auth" \(--login of the command\)$/,
    );
    expect(await host.told('channel.lost')).toMatchObject({ loss: { kind: 'unauthorized' } });
  });

  test('is not what another refusal wants, whatever it has in its headers', async () => {
    const server = await scriptedServer((asked) => asked.text('no', 'text/plain', 403));
    const { fetch } = scriptedFetch(
      () => new Response(null, { status: 400, headers: { 'www-authenticate': scoped } }),
    );
    const other = new HttpHost(anywhere, { fetch });
    expect(errorOf(await other.ask('server/discover')).code).toBe('HTTP_STATUS');
    const authorization = new Logins(() => ({ kind: 'retry' }));
    const host = new HttpHost({ url: server.url.href }, { authorization: () => authorization });
    expect(errorOf(await host.ask('server/discover'))).toMatchObject({
      code: 'HTTP_STATUS',
      status: 403,
    });
    expect(authorization.challenges).toEqual([]);
    // It says nothing of the era.
    expect(await host.told('channel.lost')).toMatchObject({ loss: { kind: 'http', status: 403 } });
  });
});
