/** A person logs in on another device: a real authorization server, and a clock that the test moves. */
import type { IncomingHttpHeaders } from 'node:http';
import { TestClock, gate } from 'mcp-actors/testing';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { memoryCredentialStore } from '../../src/auth/credential-store.ts';
import type { CredentialStore } from '../../src/auth/credential-store.ts';
import { Grants } from '../../src/auth/grants.ts';
import type { PersonAuth } from '../../src/auth/options.ts';
import type { DevicePrompt } from '../../src/channel/connection-ports.ts';
import { Inbox } from '../../../testing/src/inbox.ts';
import { authorize, refusal, watchedStore } from './authorizing.ts';
import { call, challengeNaming, startProtected } from './protected-server.ts';

/** A clock that tells which pauses begin. */
class TellingClock extends TestClock {
  readonly #begun = new Inbox<number>();

  override setTimeout(callback: () => void, delayMs: number): number {
    const id = super.setTimeout(callback, delayMs);
    this.#begun.add(delayMs);
    return id;
  }

  /** Waits until a pause of this length begins, and lets it pass once something else is done. */
  async pass(delayMs: number, meanwhile = () => {}): Promise<void> {
    await this.#begun.take(`pause of ${delayMs} ms`, (each): each is number => each === delayMs);
    meanwhile();
    this.increment(delayMs);
  }
}

/** A call without a token, whose login is under way on another device. */
async function begin(option: PersonAuth = {}, device: object = {}) {
  const { issuer, url } = await startProtected();
  issuer.device = { ...issuer.device, ...device };
  const clock = new TellingClock();
  const prompts = new Inbox<{ readonly url: string; readonly device: DevicePrompt | undefined }>();
  const store = memoryCredentialStore();
  const authorization = authorize(
    url,
    { device: true, store, ...option },
    (where, prompt) => prompts.add({ url: where, device: prompt }),
    clock,
  );
  const called = call(authorization, url, 'read');
  const prompt = () =>
    prompts.take('prompt', (each): each is (typeof prompts.all)[number] => !!each);
  return { issuer, url, clock, store, authorization, called, prompt };
}

describe('a login on another device', () => {
  test('shows where to enter which code, and has the token once the person has agreed', async () => {
    const { issuer, url, clock, store, called, prompt } = await begin();
    expect(await prompt()).toEqual({
      url: `${issuer.issuer}/enter?user_code=CODE-1`,
      device: {
        verificationUri: `${issuer.issuer}/enter`,
        userCode: 'CODE-1',
        expiresInMs: 600_000,
      },
    });
    await clock.pass(5000);
    await clock.pass(5000);
    await clock.pass(5000, () => issuer.decide('CODE-1', 'agreed'));
    expect(await called).toMatchObject({ text: 'read' });
    expect(issuer.count('/token')).toBe(3);
    // The token is bound to this server and can be refreshed.
    const kept = await new Grants(store, url).read();
    expect(kept).toMatchObject({ resource: url.href, scope: 'notes:read' });
    issuer.revoke(kept?.accessToken ?? '');
    const later = authorize(url, { device: true, store });
    expect(await call(later, url, 'read')).toMatchObject({ text: 'read' });
    expect([issuer.count('/device'), issuer.count('/register')]).toEqual([1, 1]);
  });

  test('begins nothing before the pause that the server wants, and has a pause without one', async () => {
    const { clock, prompt } = await begin({}, { interval: 20 });
    await prompt();
    await clock.pass(20_000);
    const other = await begin({}, { interval: undefined });
    await other.prompt();
    await other.clock.pass(5000);
    // A server that wants none is asked once a second.
    const hasty = await begin({}, { interval: 0, user_code: 'x'.repeat(100) });
    expect((await hasty.prompt()).device?.userCode).toHaveLength(100);
    await hasty.clock.pass(1000);
  });

  test('ends with its connection, and lets others begin', async () => {
    const { issuer, url, clock, store, authorization, called, prompt } = await begin();
    await prompt();
    authorization.close();
    expect(await called).toMatchObject({ kind: 'refused', error: { code: 'CLOSED' } });
    expect(clock.liveTimers).toBe(0);
    const tell = () => issuer.decide('CODE-2', 'agreed');
    const later = new TellingClock();
    const calling = call(authorize(url, { device: true, store }, tell, later), url, 'read');
    await later.pass(5000);
    expect(await calling).toMatchObject({ text: 'read' });
    expect([issuer.count('/device'), issuer.count('/token')]).toEqual([2, 1]);
  });

  test('that was agreed to in time may take longer to be stored', async () => {
    const store = memoryCredentialStore();
    const storing = gate();
    const write: CredentialStore['write'] = async (key, value) => {
      if (key.startsWith('grant')) await storing.pass();
      await store.write(key, value);
    };
    const { issuer, url, clock, authorization, called, prompt } = await begin({
      store: { ...store, write },
    });
    await prompt();
    await clock.pass(5000, () => issuer.decide('CODE-1', 'agreed'));
    await storing.arrived();
    clock.increment(5 * 60_000);
    storing.release();
    expect(await called).toMatchObject({ text: 'read' });
    // The login has come to something: its token is renewed.
    issuer.revoke((await new Grants(store, url).read())?.accessToken ?? '');
    expect(await call(authorization, url, 'read')).toMatchObject({ text: 'read' });
  });

  test('that nobody has agreed to in time is not begun again by those who waited for it', async () => {
    const { url, clock, store, called, prompt } = await begin();
    await prompt();
    const waiting = gate();
    const watched = watchedStore(store, () => waiting.release());
    const other = authorize(url, { device: true, store: watched });
    const theirs = call(other, url, 'read');
    await waiting.pass();
    // What was declined is told with the millisecond in which it was.
    const since = Date.now();
    await expect.poll(() => Date.now()).toBeGreaterThan(since);
    clock.increment(5 * 60_000);
    const refused = 'refused: The person did not log in within 300000 ms';
    expect((await Promise.all([called, theirs])).map(refusal)).toEqual([refused, refused]);
    expect(other.asked).toEqual([]);
  });

  test('shows its client as the authorization server wants, and asks for JSON', async () => {
    const { issuer, url } = await startProtected();
    const seen: IncomingHttpHeaders[] = [];
    const bodies: string[] = [];
    issuer.fault = (request, response) => {
      if (request.url !== '/device') return false;
      seen.push(request.headers);
      void text(request).then((body) => {
        bodies.push(body);
        response.writeHead(500).end();
      });
      return true;
    };
    const forms = async (known: object, option: object) => {
      issuer.metadata = (other) => ({ ...other, ...known });
      await call(authorize(url, { device: true, ...option }), url, 'read');
      return Object.fromEntries(new URLSearchParams(bodies.at(-1)));
    };
    const own = { clientId: 'tv', clientSecret: 'tv-secret' };
    const post = { token_endpoint_auth_methods_supported: ['client_secret_post'] };
    const asked = { scope: 'notes:read', resource: url.href };
    expect(await forms(post, own)).toEqual({
      ...asked,
      client_id: 'tv',
      client_secret: 'tv-secret',
    });
    expect(await forms({}, own)).toEqual(asked);
    expect(await forms({}, { clientId: 'tv' })).toEqual({ ...asked, client_id: 'tv' });
    // A client without a URL is not known by one, nor is it at a server that knows none.
    const known = { client_id_metadata_document_supported: true };
    const registered = { ...asked, client_id: expect.stringMatching(/^[-\da-f]{36}$/) as string };
    expect(await forms(known, {})).toEqual(registered);
    const clientMetadataUrl = 'https://host.example.com/client.json';
    expect(await forms({}, { clientMetadataUrl })).toEqual(registered);
    expect(await forms(known, { clientMetadataUrl })).toEqual({
      ...asked,
      client_id: clientMetadataUrl,
    });
    expect(seen.map(({ accept }) => accept)).toEqual(Array(6).fill('application/json'));
    expect(seen.map(({ authorization }) => authorization?.startsWith('Basic '))).toEqual([
      undefined,
      true,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('asks less often when it is told to slow down', async () => {
    const { issuer, clock, called, prompt } = await begin();
    await prompt();
    issuer.fault = (request, response) => {
      if (request.url !== '/token') return false;
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end('{"error":"slow_down"}');
      return true;
    };
    await clock.pass(5000);
    await clock.pass(10_000);
    await clock.pass(15_000, () => {
      issuer.fault = () => false;
      issuer.decide('CODE-1', 'agreed');
    });
    expect(await called).toMatchObject({ text: 'read' });
  });

  test('asks less often while nobody answers, and goes on', async () => {
    const { issuer, clock, called, prompt } = await begin();
    await prompt();
    issuer.fault = (request, response) => {
      if (request.url === '/token') response.destroy();
      return request.url === '/token';
    };
    await clock.pass(5000);
    await clock.pass(10_000);
    await clock.pass(20_000, () => {
      issuer.fault = () => false;
      issuer.decide('CODE-1', 'agreed');
    });
    expect(await called).toMatchObject({ text: 'read' });
  });

  test('that is declined is said to be', async () => {
    const { issuer, clock, called, prompt } = await begin();
    await prompt();
    issuer.decide('CODE-1', 'declined');
    await clock.pass(5000);
    expect(refusal(await called)).toBe('refused: The login was declined on the other device');
  });

  test('expires with its code, whoever notices it first', async () => {
    const message = /refused: The code expired: the login was not approved within 600 s/;
    const first = await begin();
    await first.prompt();
    first.issuer.decide('CODE-1', 'expired');
    await first.clock.pass(5000);
    expect(refusal(await first.called)).toMatch(message);
    const second = await begin({ visitTimeoutMs: 700_000 });
    await second.prompt();
    await second.clock.pass(600_000);
    expect(refusal(await second.called)).toMatch(message);
  });

  test('with a client that is known by the URL of its metadata registers none', async () => {
    const { issuer, url } = await startProtected();
    const clientMetadataUrl = 'https://host.example.com/client.json';
    issuer.know(clientMetadataUrl, []);
    const clock = new TellingClock();
    const option = { device: true, clientMetadataUrl };
    const agreeing = () => issuer.decide('CODE-1', 'agreed');
    const called = call(authorize(url, option, agreeing, clock), url, 'read');
    await clock.pass(5000);
    expect(await called).toMatchObject({ text: 'read' });
    expect(issuer.count('/register')).toBe(0);
  });

  test('asks for no scope if neither server nor host names one', async () => {
    const { issuer, url } = await startProtected();
    const asked = new Promise<URLSearchParams>((resolve) => {
      issuer.fault = (request, response) => {
        if (request.url !== '/device') return false;
        let body = '';
        request.on('data', (chunk) => (body += String(chunk)));
        request.on('end', () => {
          resolve(new URLSearchParams(body));
          response.writeHead(500).end();
        });
        return true;
      };
    });
    const wwwAuthenticate = (await challengeNaming(url, issuer)).replace(/, scope=.*/, '');
    const challenge = {
      status: 401,
      wwwAuthenticate,
      url: url.href,
      sent: {},
      retries: 0,
    } as const;
    await authorize(url, { device: true }).challenged(challenge);
    expect((await asked).has('client_id')).toBe(true);
    expect((await asked).has('scope')).toBe(false);
  });

  test('with a client that is registered shows its secret, and registers none', async () => {
    const { issuer, url } = await startProtected();
    issuer.admit({ clientId: 'tv', clientSecret: 'tv-secret' }, []);
    const clock = new TellingClock();
    const store = memoryCredentialStore();
    const option = { device: true, clientId: 'tv', clientSecret: 'tv-secret', store };
    const called = call(
      authorize(url, option, () => issuer.decide('CODE-1', 'agreed'), clock),
      url,
      'read',
    );
    await clock.pass(5000);
    expect(await called).toMatchObject({ text: 'read' });
    expect(issuer.count('/register')).toBe(0);
    expect(JSON.stringify(await new Grants(store, url).read())).not.toContain('tv-secret');
  });
});

describe('a login on another device is refused', () => {
  test.each([undefined, 'device', 7])(
    'if the authorization server has none (%s)',
    async (endpoint) => {
      const { issuer, url } = await startProtected();
      issuer.metadata = (own) => ({ ...own, device_authorization_endpoint: endpoint });
      expect(refusal(await call(authorize(url, { device: true }), url, 'read'))).toBe(
        `refused: The authorization server ${issuer.issuer} does not support device logins (RFC 8628): log in with a browser`,
      );
    },
  );

  test('if it registers no client', async () => {
    const { issuer, url } = await startProtected();
    issuer.metadata = (own) => ({ ...own, registration_endpoint: undefined });
    expect(refusal(await call(authorize(url, { device: true }), url, 'read'))).toContain(
      'does not support dynamic client registration: register a client there and set "clientId"',
    );
  });

  test('with what the server says of it, and without the code', async () => {
    const { issuer, url } = await startProtected();
    const option = { device: true, clientId: 'unknown' };
    expect(refusal(await call(authorize(url, option), url, 'read'))).toBe(
      'refused: The authorization server returned invalid_client: invalid_client',
    );
    expect(issuer.count('/token')).toBe(0);
  });

  test('if its client is for another authorization server', async () => {
    const { issuer, url } = await startProtected();
    const store = memoryCredentialStore();
    const other = 'https://other.example.com';
    const message = `refused: The server names the authorization server ${issuer.issuer}, but the configured credentials are for ${other} ("issuer")`;
    for (const option of [{ issuer: other }, { issuer: other, clientId: 'tv' }]) {
      expect(refusal(await call(authorize(url, { device: true, ...option }), url, 'read'))).toBe(
        message,
      );
    }
    await store.write(`pinned tv ${url.href}`, { issuer: other });
    const option = { device: true, clientId: 'tv', store };
    expect(refusal(await call(authorize(url, option), url, 'read'))).toBe(message);
    expect(issuer.count('/device')).toBe(0);
  });

  test.each<[number, string, string]>([
    [500, 'down', 'unreachable: The authorization server did not issue a device code (HTTP 500)'],
    [400, '{}', 'refused: The authorization server did not issue a device code (HTTP 400)'],
    [200, '[]', 'refused: The authorization server did not issue a device code (HTTP 200)'],
    [
      400,
      '{"error":"invalid_scope","error_description":"none of these"}',
      'refused: The authorization server returned invalid_scope: none of these',
    ],
  ])('if the answer is %i %s', async (status, body, message) => {
    const { issuer, url } = await startProtected();
    issuer.fault = (request, response) => {
      if (request.url !== '/device') return false;
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      return true;
    };
    expect(refusal(await call(authorize(url, { device: true }), url, 'read'))).toBe(message);
  });

  test('with what the server says when it is asked for the token', async () => {
    const { issuer, clock, called, prompt } = await begin();
    await prompt();
    await clock.pass(5000, () => issuer.forgetDevices());
    expect(refusal(await called)).toBe(
      'refused: The authorization server returned invalid_grant: invalid_grant',
    );
  });

  test.each([
    [
      'javascript:alert(1)',
      'The verification page must use https:// (or http:// on loopback), got javascript://',
    ],
    [
      'file:///etc/passwd',
      'The verification page must use https:// (or http:// on loopback), got file://',
    ],
    [
      'http://evil.example.com/enter',
      'The verification page must use https:// (or http:// on loopback), got http://evil.example.com',
    ],
    ['enter', '"verification_uri" of the authorization server must be a URL'],
  ])('if the person would be sent to %s', async (uri, message) => {
    for (const member of ['verification_uri', 'verification_uri_complete']) {
      const { called, authorization } = await begin({}, { [member]: uri });
      expect(refusal(await called)).toContain(message);
      expect(authorization.asked).toEqual([]);
    }
  });

  test.each([
    ['no code for the device', { device_code: undefined }],
    ['a code that nobody can enter', { user_code: 'x'.repeat(101) }],
    ['no time', { expires_in: undefined }],
    ['a pause that is none', { interval: -1 }],
  ])('if there is %s', async (_, device) => {
    const { called } = await begin({}, device);
    expect(refusal(await called)).toContain('Invalid response from http');
  });

  test('together with another way to come back', async () => {
    for (const option of [
      { visit: () => Promise.resolve('') },
      { redirectUrl: 'http://127.0.0.1:1/' },
    ]) {
      await expect(begin({ ...option })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('"device" excludes "visit" and "redirectUrl"'),
      });
    }
  });
});
