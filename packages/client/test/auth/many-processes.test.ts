/** Processes that share their logins: real ones, each with a person at a real authorization server. */
import { mkdtemp, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gate } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fileCredentialStore } from '../../src/auth/file-store.ts';
import { Grants } from '../../src/auth/grants.ts';
import { temporaryDirectory } from '../../../roots/test/temporary-directory.ts';
import { LineProcess } from './line-process.ts';
import { startProtected } from './protected-server.ts';

/** MCP_ACTORS_PROCESSES=20 tries more. */
const many = Number(process.env['MCP_ACTORS_PROCESSES'] ?? 8);

/** A browser whose person agrees at once; each window is a line in a file. */
async function browser() {
  const folder = await mkdtemp(join(await temporaryDirectory(), 'browser-'));
  const [windows, program] = [join(folder, 'windows'), join(folder, 'browser.mjs')];
  const visit = `#!${process.execPath}
import { appendFileSync } from 'node:fs';
import { get } from 'node:http';
const [url] = process.argv.slice(2);
appendFileSync(${JSON.stringify(windows)}, url + '\\n');
get(url, (sent) => get(sent.headers.location, (back) => back.resume()));
`;
  await writeFile(windows, '');
  await writeFile(program, visit, { mode: 0o700 });
  const opened = async () => (await readFile(windows, 'utf8')).split('\n').length - 1;
  return { environment: { BROWSER: program }, opened };
}

async function world(count: number) {
  const { issuer, url } = await startProtected();
  const folder = join(await temporaryDirectory(), 'credentials');
  const { environment, opened } = await browser();
  const start = async () => {
    const args = [folder, url.href, 'person'];
    const caller = await LineProcess.startIn(
      environment,
      'packages/client/test/auth/caller.ts',
      ...args,
    );
    onTestFinished(() => caller.kill());
    return caller;
  };
  const callers = await Promise.all(Array.from({ length: count }, start));
  /** All of them call, and are refused. */
  const refused = async (): Promise<void> => {
    for (const caller of callers) caller.tell('call');
    await Promise.all(callers.map((caller) => caller.says('refused')));
  };
  const say = async (text: string, of = callers): Promise<void> => {
    await Promise.all(of.map((caller) => caller.says(text)));
  };
  return { issuer, url, folder, callers, refused, say, opened };
}

/** The process that holds the lock of the login. */
async function holderOf(folder: string): Promise<number> {
  const [lock = ''] = (await readdir(folder)).filter((name) => name.endsWith('.lock'));
  const { pid } = JSON.parse(await readFile(join(folder, lock), 'utf8')) as {
    readonly pid: number;
  };
  return pid;
}

// A browser is a program with a first line that says how it is run.
describe.runIf(process.platform !== 'win32')('processes that share their logins', () => {
  test(`${many} that begin without one open one window, and refresh once`, async () => {
    const { issuer, url, folder, refused, say, opened } = await world(many);
    const [visiting, renewing] = [gate(), gate()];
    issuer.meanwhile = (path) => (path === '/authorize' ? visiting.pass() : undefined);
    await refused();
    await visiting.arrived();
    visiting.release();
    await say('200');
    expect(await opened()).toBe(1);
    const counts = () => ['/authorize', '/register', '/token'].map((path) => issuer.count(path));
    expect(counts()).toEqual([1, 1, 1]);
    const kept = await new Grants(fileCredentialStore({ folder }), url).read();
    issuer.revoke(kept?.accessToken ?? '');
    issuer.meanwhile = (path) => (path === '/token' ? renewing.pass() : undefined);
    await refused();
    await renewing.arrived();
    renewing.release();
    await say('200');
    expect([...counts(), await opened()]).toEqual([1, 1, 2, 1]);
  });

  test('the next one logs in if the first is killed in the middle', async () => {
    const { issuer, folder, callers, refused, say, opened } = await world(3);
    const visiting = gate();
    issuer.meanwhile = (path) => (path === '/authorize' ? visiting.pass() : undefined);
    await refused();
    await visiting.arrived();
    const pid = await holderOf(folder);
    const killed = callers.find((caller) => caller.pid === pid);
    await killed?.kill();
    visiting.release();
    const others = callers.filter((caller) => caller !== killed);
    expect(others).toHaveLength(2);
    await say('200', others);
    expect([await opened(), issuer.count('/token')]).toEqual([2, 1]);
  });

  test('nobody is asked again for those who waited for a login that was declined', async () => {
    const { issuer, refused, say, opened } = await world(3);
    const visiting = gate();
    issuer.meanwhile = (path) => (path === '/authorize' ? visiting.pass() : undefined);
    issuer.sendBack = (back) => {
      back.searchParams.delete('code');
      back.searchParams.set('error', 'access_denied');
      return back;
    };
    await refused();
    await visiting.arrived();
    visiting.release();
    await say('The authorization server returned access_denied: access_denied');
    expect([await opened(), issuer.count('/token')]).toEqual([1, 0]);
  });
});
