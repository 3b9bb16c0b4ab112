/**
 * Options and events of the driver's contract (docs/maintaining/driver.md) not covered by
 * driver.test.ts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { startProtected } from '../../packages/client/test/auth/protected-server.ts';
import { greeted, scriptedServer } from '../../packages/client/test/http/scripted-server.ts';
import type { Scripted } from '../../packages/client/test/http/scripted-server.ts';
import { call, connect, small, textOf } from './driver-commands.ts';
import { sharedDriver, startDriver } from './driver-process.ts';
import type { DriverProcess, Told } from './driver-process.ts';
import { launchLab } from './http-process.ts';
import { lab, reapServers } from './server-process.ts';

afterEach(reapServers);

const takeDriver = sharedDriver();

const laboratory = { command: process.execPath, args: lab };
const crashing = fileURLToPath(
  new URL('../../packages/client/test/crashing-server.mjs', import.meta.url),
);

const isGone = (pid: number) => {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
};
const told = (driver: DriverProcess, event: string, fields: object = {}): Promise<Told> =>
  driver.told.find(
    (line) =>
      line.event === event && Object.entries(fields).every(([name, value]) => line[name] === value),
  );

/** Starts a session, and has tools. */
function greets(asked: Scripted, session = 's-1'): void {
  const protocolVersion = asked.message?.params?.['protocolVersion'];
  const serverInfo = { name: 'scripted', version: '1' };
  const result = { protocolVersion, capabilities: { tools: {} }, serverInfo };
  asked.result(result, { 'mcp-session-id': session });
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'driver-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe('time limits of the driver', () => {
  test('apply connectMs per attempt and requestMs per request', async () => {
    const driver = takeDriver();
    const options = { connectMs: 300, probeMs: 20, restart: false };
    const deaf = { op: 'connect', name: 'deaf', server: small('--deaf'), options };
    expect(await driver.fail(deaf)).toMatchObject({ code: 'CONNECT_TIMEOUT' });
    await connect(driver, small('hang'), { requestMs: 100 });
    expect(await driver.fail(call('hang'))).toMatchObject({ code: 'REQUEST_TIMEOUT' });
  });

  test('restart timeoutMs on reported progress if there is a maxTotalMs', async () => {
    const driver = takeDriver();
    await connect(driver, laboratory);
    const times = { timeoutMs: 10_000, maxTotalMs: 20_000 };
    const ref = driver.send({ ...call('slow', { ms: 50 }), ...times });
    expect(await driver.result(ref)).toMatchObject({ ok: true });
    expect(await told(driver, 'progress', { ref })).toMatchObject({ total: 5 });
    const total = { timeoutMs: 60_000, maxTotalMs: 100 };
    const late = await driver.fail({ ...call('slow', { ms: 600_000 }), ...total });
    expect(late).toMatchObject({ code: 'REQUEST_TIMEOUT' });
  });

  test('apply the stop times to a server that ignores everything, and either can be omitted', async () => {
    const folder = temporaryFolder();
    const server = {
      command: process.execPath,
      args: [crashing, 'hang', 'tools/list', 'Infinity', folder],
    };
    const driver = takeDriver();
    await connect(driver, server, { stop: { stdinMs: 1, termMs: 1 } });
    const listed = driver.send({ op: 'listTools', name: 'a' });
    await expect.poll(() => readFile(join(folder, 'messages'), 'utf8')).toContain('tools/list');
    await driver.run({ op: 'close', name: 'a' });
    expect(await driver.result(listed)).toMatchObject({ ok: false, error: { code: 'CLOSED' } });
    const [pid = 0] = JSON.parse(await readFile(join(folder, 'runs'), 'utf8')) as number[];
    expect(isGone(pid)).toBe(true);
    for (const [stop, name] of [
      [{ stdinMs: -1 }, 'stop.inputMs'],
      [{ termMs: -1 }, 'stop.terminateMs'],
    ] as const) {
      const wrong = { op: 'connect', name: 'b', server: small('one'), options: { stop } };
      expect(await driver.fail(wrong)).toMatchObject({
        code: 'CONFIG',
        message: expect.stringContaining(name) as string,
      });
    }
  });

  test('apply streamRetry to a stream that was cut', async () => {
    const isCall = (method?: string) => method === 'tools/call';
    const server = await scriptedServer((asked) => {
      const isResumption = asked.headers['last-event-id'] !== undefined;
      if (asked.message?.method === 'initialize') return greets(asked);
      if (!isCall(asked.message?.method) && !isResumption) return greeted(asked);
      asked.stream();
      if (!isResumption) asked.event('', 'p-1');
      return asked.response.end();
    });
    const driver = takeDriver();
    const streamRetry = { initialMs: 1, maxMs: 1, factor: 1, maxAttempts: 2 };
    await connect(driver, { type: 'http', url: server.url.href }, { streamRetry, era: 'legacy' });
    expect(await driver.fail(call('any'))).toMatchObject({ code: 'CLOSED' });
    const resumptions = server.asked.filter(({ headers }) => 'last-event-id' in headers);
    expect(resumptions).toHaveLength(2);
  });

  test('limit the start of a manager by startupMs', async () => {
    const driver = startDriver();
    const mcpServers = { deaf: small('--deaf') };
    const manager = { op: 'manager', config: { mcpServers }, options: { startupMs: 50 } };
    expect(await driver.run(manager)).toMatchObject({ servers: { deaf: { state: 'connecting' } } });
  });
});

test('affect only the oversized message with limits', async () => {
  const driver = takeDriver();
  await connect(driver, small('one'), { limits: { maxLineBytes: 4000 } });
  const long = await driver.fail(call('one', { text: 'x'.repeat(5000) }));
  expect(long).toMatchObject({ code: 'LIMIT' });
  expect(textOf(await driver.run(call('one', { text: 'y' })))).toBe('one y');
});

describe.each(['legacy', 'modern'])('a driver in the era %s', (era) => {
  test('answers with the roots set last', async () => {
    const driver = takeDriver();
    const providers = { roots: { roots: [{ uri: 'file:///one' }] } };
    await connect(driver, laboratory, { era, providers });
    const listed = async () =>
      (await driver.run(call('list_roots')))['structuredContent'] as object;
    expect(await listed()).toMatchObject({ roots: [{ uri: 'file:///one' }] });
    const roots = [{ uri: 'file:///two', name: 'two' }];
    expect(await driver.run({ op: 'setRoots', name: 'a', roots })).toEqual({});
    expect(await listed()).toMatchObject({ roots: [{ uri: 'file:///two', name: 'two' }] });
    expect(await told(driver, 'asked', { method: 'roots/list' })).toMatchObject({ name: 'a' });
  });

  test('reports changes of a subscribed resource, and of tools with watch', async () => {
    const driver = takeDriver();
    await connect(driver, laboratory, { era, watch: true });
    expect(await told(driver, 'tools')).toMatchObject({
      tools: expect.arrayContaining(['echo', 'change']) as string[],
    });
    expect(await driver.run({ op: 'subscribe', name: 'a', uri: 'lab://a' })).toEqual({});
    await driver.run(call('change', { what: 'resource', uri: 'lab://b' }));
    await driver.run(call('change', { what: 'resource', uri: 'lab://a' }));
    const method = 'notifications/resources/updated';
    const { params } = await told(driver, 'notification', { name: 'a', method });
    expect(params).toMatchObject({ uri: 'lab://a' });
    await driver.run(call('change', { what: 'tools' }));
    let count = 0;
    await driver.told.find(({ event }) => event === 'tools' && ++count === 2);
  });

  test('reads, calls a method by name, and refreshes lists', async () => {
    const driver = takeDriver();
    await connect(driver, laboratory, { era });
    expect(await driver.run({ op: 'readResource', name: 'a', uri: 'lab://a' })).toMatchObject({
      contents: [{ text: 'This is the resource a.' }],
    });
    const request = { op: 'request', name: 'a', method: 'prompts/list', timeoutMs: 10_000 };
    expect(await driver.run(request)).toMatchObject({ prompts: [] });
    const anew = await driver.run({ op: 'listTools', name: 'a', refresh: true });
    expect(anew['tools']).toHaveLength(9);
  });

  test('answers with errors or throws, as its providers do', async () => {
    const driver = takeDriver();
    const sampling = { error: { code: -1, message: 'not today' } };
    const elicitation = { throws: 'a secret of the host', delayMs: 1 };
    await connect(driver, laboratory, { era, providers: { sampling, elicitation } });
    const ask = async (kind: string) => {
      const ref = driver.send(call('ask', { kind, count: 1, concurrent: false }));
      const { value, error } = await driver.result(ref);
      return (value ?? error) as Record<string, unknown>;
    };
    const failedWith = (remoteCode: number, message: string) =>
      // A modern server gets only requests, so the call fails here.
      era === 'modern'
        ? { message: expect.stringContaining(message) as string }
        : { structuredContent: { failed: 1, failures: [{ remoteCode }] } };
    expect(await ask('sampling')).toMatchObject(failedWith(-1, 'not today'));
    expect(await ask('elicitation')).toMatchObject(failedWith(-32603, 'Internal error'));
    const asked = driver.told.all.flatMap(({ event, method }) =>
      event === 'asked' ? [method] : [],
    );
    expect(asked).toEqual(['sampling/createMessage', 'elicitation/create']);
  });
});

test('reports log messages, invalid messages, and unsupported roots', async () => {
  const driver = takeDriver();
  await connect(driver, laboratory, { era: 'legacy' });
  const level = { op: 'request', name: 'a', method: 'logging/setLevel', params: { level: 'info' } };
  await driver.run(level);
  await driver.run(call('log', { level: 'warning', message: 'so so' }));
  const method = 'notifications/message';
  expect(await told(driver, 'notification', { method })).toMatchObject({
    params: { level: 'warning', data: 'so so' },
  });
  const setRoots = { op: 'setRoots', name: 'a', roots: [] };
  expect(await driver.fail(setRoots)).toMatchObject({ code: 'CAPABILITY' });
  const banner = { op: 'connect', name: 'b', server: small('one', '--banner') };
  await driver.run(banner);
  expect(await told(driver, 'problem', { name: 'b' })).toMatchObject({
    message: expect.any(String) as string,
  });
});

test('reports requests of the server and their withdrawal', async () => {
  const driver = takeDriver();
  const elicitation = { result: { action: 'decline' }, delayMs: 600_000 };
  await connect(driver, laboratory, { era: 'legacy', providers: { elicitation } });
  const target = driver.send(call('ask', { kind: 'elicitation', count: 1, concurrent: false }));
  await told(driver, 'asked', { method: 'elicitation/create' });
  await driver.run({ op: 'cancel', target, reason: 'enough' });
  expect(await driver.result(target)).toMatchObject({ ok: false, error: { code: 'CANCELLED' } });
  await told(driver, 'withdrawn', { name: 'a', method: 'elicitation/create' });
});

test('counts sessions over HTTP, and reports the status of a refusal', async () => {
  const { url } = await launchLab();
  const driver = takeDriver();
  await connect(driver, { type: 'http', url: url.href }, { era: 'legacy' });
  expect(await driver.run({ op: 'state', name: 'a' })).toMatchObject({ launches: 1 });
  await driver.run({ op: 'reconnect', name: 'a' });
  expect(await driver.run({ op: 'servers' })).toMatchObject({ a: { state: 'ready', launches: 2 } });
  let [session, pings] = [0, 0];
  const forgetful = await scriptedServer((asked) => {
    const isPing = asked.message?.method === 'ping';
    if (isPing && ++pings === 2) return asked.text('no such session', 'text/plain', 404);
    if (asked.message?.method === 'initialize') return greets(asked, `s-${++session}`);
    return greeted(asked) || asked.result();
  });
  const options = { era: 'legacy' };
  await driver.run({
    op: 'connect',
    name: 'f',
    server: { type: 'http', url: forgetful.url },
    options,
  });
  for (let ping = 0; ping < 2; ping++)
    await driver.run({ op: 'request', name: 'f', method: 'ping' });
  expect(await driver.run({ op: 'state', name: 'f' })).toMatchObject({ launches: 2 });
  const nowhere = await scriptedServer((asked) => asked.text('no', 'text/plain', 500));
  const server = { type: 'http', url: nowhere.url.href };
  const refused = { op: 'connect', name: 'b', server, options: { restart: false } };
  expect(await driver.fail(refused)).toMatchObject({ code: 'HTTP', status: 500 });
});

test('keeps a login in its folder for the next driver', async () => {
  const { url } = await startProtected();
  const options = { auth: { storeDir: join(temporaryFolder(), 'logins') } };
  for (const logins of [1, 0]) {
    const driver = startDriver();
    await connect(driver, { type: 'http', url: url.href }, options);
    expect(driver.told.all.filter(({ event }) => event === 'authorize')).toHaveLength(logins);
    expect(await driver.end()).toBe(0);
  }
});

describe('a login of a driver', () => {
  const redirectUrl = 'http://127.0.0.1:1/back?of=driver';
  const asked = ({ told: { all } }: DriverProcess): URLSearchParams => {
    const visit = all.find(({ event }) => event === 'authorize');
    return new URL(String(visit?.['url'])).searchParams;
  };

  test('uses a registered client with its secret and redirect URL', async () => {
    const { url, issuer } = await startProtected();
    const client = { clientId: 'desk', clientSecret: 's3 cr:t' };
    issuer.admit(client, [redirectUrl]);
    const driver = takeDriver();
    const server = { type: 'http', url: url.href };
    await connect(driver, server, { auth: { ...client, redirectUrl } });
    expect(issuer.count('/register')).toBe(0);
    expect(asked(driver).get('client_id')).toBe('desk');
    expect(asked(driver).get('redirect_uri')).toBe(redirectUrl);
    const wrong = { ...client, clientSecret: 'guessed', redirectUrl };
    const forged = { op: 'connect', name: 'b', server, options: { auth: wrong } };
    expect(await driver.fail(forged)).toMatchObject({ code: 'AUTH' });
    const without = { auth: { clientSecret: 'alone' } };
    expect(await driver.fail({ op: 'connect', name: 'c', server, options: without })).toMatchObject(
      {
        code: 'CONFIG',
      },
    );
  });

  test('registers with its redirect URL, and requests its scope if the server names none', async () => {
    const { issuer } = await startProtected();
    const server = await scriptedServer((asking) => {
      const { path, headers } = asking;
      if (path.startsWith('/.well-known/oauth-protected-resource')) {
        return asking.json({ resource: server.url.href, authorization_servers: [issuer.issuer] });
      }
      if (path !== '/mcp') return asking.text('not here', 'text/plain', 404);
      if (headers.authorization === undefined) return asking.json({}, 401);
      return greeted(asking) || asking.result();
    });
    const driver = takeDriver();
    const auth = { scope: 'desk:all', redirectUrl };
    await connect(driver, { type: 'http', url: server.url.href }, { auth, era: 'legacy' });
    expect(asked(driver).get('scope')).toBe('desk:all');
    expect(issuer.count('/register')).toBe(1);
    expect(asked(driver).get('redirect_uri')).toBe(redirectUrl);
    await driver.run({ op: 'close', name: 'a' });
  });
});

test.each(['SIGTERM', 'SIGINT'] as const)('ends its servers and itself on %s', async (signal) => {
  const driver = startDriver();
  await connect(driver, small('pid'));
  const pid = Number(textOf(await driver.run(call('pid'))));
  driver.signal(signal);
  expect(await driver.exited).toBe(0);
  expect(isGone(pid)).toBe(true);
});
