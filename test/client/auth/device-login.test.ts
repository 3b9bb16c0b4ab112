/** A person logs in on another device: a real authorization server, and a clock that the test moves. */
import { TestClock } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { memoryCredentialStore } from '../../../src/client/auth/credential-store.ts';
import { Grants } from '../../../src/client/auth/grants.ts';
import type { PersonAuth } from '../../../src/client/auth/options.ts';
import type { DevicePrompt } from '../../../src/machines/connection-ports.ts';
import { Inbox } from '../../../src/testing/inbox.ts';
import { authorize, refusal } from './authorizing.ts';
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
    // The token is for this server, and can be renewed as any other.
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
    const message = /refused: The code has expired: nobody has agreed to the login within 600 s/;
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
  test('if the authorization server has none', async () => {
    const { issuer, url } = await startProtected();
    issuer.metadata = (own) => ({ ...own, device_authorization_endpoint: undefined });
    expect(refusal(await call(authorize(url, { device: true }), url, 'read'))).toBe(
      `refused: The authorization server ${issuer.issuer} has no login by a code on another device (RFC 8628): log in with a browser`,
    );
  });

  test('if it registers no client', async () => {
    const { issuer, url } = await startProtected();
    issuer.metadata = (own) => ({ ...own, registration_endpoint: undefined });
    expect(refusal(await call(authorize(url, { device: true }), url, 'read'))).toContain(
      'registers no clients by itself: register one there, and give its "clientId"',
    );
  });

  test('with what the server says of it, and without the code', async () => {
    const { issuer, url } = await startProtected();
    const option = { device: true, clientId: 'unknown' };
    expect(refusal(await call(authorize(url, option), url, 'read'))).toBe(
      'refused: The authorization server says invalid_client: invalid_client',
    );
    expect(issuer.count('/token')).toBe(0);
  });

  test.each([
    ['javascript:alert(1)', 'The page on which the code is to be entered is javascript://'],
    ['file:///etc/passwd', 'The page on which the code is to be entered is file://'],
    [
      'http://evil.example.com/enter',
      'The page on which the code is to be entered is http://evil.example.com',
    ],
    ['enter', 'says not where to enter its code'],
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
    expect(refusal(await called)).toContain('has answered what RFC 8628 does not allow');
  });

  test('together with another way to come back', async () => {
    for (const option of [
      { visit: () => Promise.resolve('') },
      { redirectUrl: 'http://127.0.0.1:1/' },
    ]) {
      await expect(begin({ ...option })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('"device" goes with neither "visit" nor "redirectUrl"'),
      });
    }
  });
});
