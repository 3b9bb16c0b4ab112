/** The stores of a host's credentials: their contract, and what files promise besides. */
import {
  chmod,
  chown,
  mkdir,
  readFile,
  readdir,
  rename,
  rm,
  readlink,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { credentialStoreContract, gate } from 'mcp-actors/testing';
import { memoryCredentialStore } from '../../src/auth/credential-store.ts';
import { withFileLock } from '../../src/auth/file-lock.ts';
import { defaultCredentialFolder, fileCredentialStore } from '../../src/auth/file-store.ts';
import { Grants, grantFrom } from '../../src/auth/grants.ts';
import { temporaryDirectory } from '../../../roots/test/temporary-directory.ts';
import { makeNamedPipe } from '../../../roots/test/named-pipe.ts';
import { LineProcess } from './line-process.ts';

const isPosix = process.platform !== 'win32';

describe('a store in memory', () => {
  for (const { name, check } of credentialStoreContract) {
    test(name, () =>
      check(() => {
        const store = memoryCredentialStore();
        return { open: () => store };
      }),
    );
  }

  test('lets nobody in beside the one who has waited', async () => {
    const store = memoryCredentialStore();
    const [first, second] = [gate(), gate()];
    const order: string[] = [];
    const works = [
      store.exclusive('a', () => first.pass()),
      store.exclusive('a', () => second.pass().then(() => void order.push('second'))),
    ];
    await first.arrived();
    first.release();
    await second.arrived();
    works.push(store.exclusive('a', async () => void order.push('third')));
    await store.exclusive('b', async () => void order.push('another key'));
    second.release();
    await Promise.all(works);
    expect(order).toEqual(['another key', 'second', 'third']);
  });
});

describe('a store in files', () => {
  for (const { name, check } of credentialStoreContract) {
    test(name, () =>
      check(async () => {
        const folder = join(await temporaryDirectory(), 'credentials');
        return { open: () => fileCredentialStore({ folder }) };
      }),
    );
  }

  test.runIf(isPosix)('lets nobody else read them [LOGIN-14]', async () => {
    const folder = join(await temporaryDirectory(), 'state', 'credentials');
    const store = fileCredentialStore({ folder });
    await store.write('grant https://as.example.com', { token: 'secret' });
    await store.exclusive('a', async () => {
      for (const name of await readdir(folder)) {
        expect((await stat(join(folder, name))).mode % 0o1000, name).toBe(0o600);
      }
    });
    // So are those above it that were made for it (XDG Base Directory).
    for (const made of [folder, join(folder, '..')]) {
      expect((await stat(made)).mode % 0o1000, made).toBe(0o700);
    }
  });

  test.runIf(isPosix)(
    'may have other files in its folder if nobody else may open that',
    async () => {
      const folder = join(await temporaryDirectory(), 'mine');
      await mkdir(folder, { mode: 0o700 });
      await writeFile(join(folder, 'notes'), '');
      const store = fileCredentialStore({ folder });
      await store.write('a', { token: 'secret' });
      expect([await store.read('a'), await store.keys()]).toEqual([{ token: 'secret' }, ['a']]);
    },
  );

  test.runIf(process.platform === 'linux')('leaves no file open', async () => {
    const folder = join(await temporaryDirectory(), 'credentials');
    const store = fileCredentialStore({ folder });
    await store.write('a', { token: 'secret' });
    await store.read('a');
    const open = (await readdir('/proc/self/fd')).map((name) =>
      readlink(`/proc/self/fd/${name}`).catch(() => ''),
    );
    expect((await Promise.all(open)).filter((path) => path.startsWith(folder))).toEqual([]);
  });

  test('shows neither key nor secret in the name of a file, and leaves nothing else', async () => {
    const folder = join(await temporaryDirectory(), 'credentials');
    const store = fileCredentialStore({ folder });
    await store.exclusive('a', () => store.write('https://as.example.com', { token: 'secret' }));
    await store.write('https://as.example.com', { token: 'other' });
    expect(await readdir(folder)).toEqual([expect.stringMatching(/^[0-9a-f]{32}\.json$/)]);
  });

  test.runIf(isPosix)('refuses a folder that others may open, and leaves it as it is', async () => {
    const folder = join(await temporaryDirectory(), 'shared');
    await mkdir(folder, { mode: 0o755 });
    await writeFile(join(folder, 'notes'), '');
    const store = fileCredentialStore({ folder });
    await expect(store.write('a', {})).rejects.toThrow(
      `The credential folder ${folder} is accessible to other users (mode 755)`,
    );
    expect((await stat(folder)).mode % 0o1000).toBe(0o755);
  });

  test.runIf(isPosix)('closes a folder that was made for it', async () => {
    const folder = join(await temporaryDirectory(), 'made');
    await mkdir(folder);
    const store = fileCredentialStore({ folder });
    await chmod(folder, 0o755);
    await store.write('a', { token: 'secret' });
    expect((await stat(folder)).mode % 0o1000).toBe(0o700);
    await chmod(folder, 0o750);
    await store.write('b', { token: 'secret' });
    expect((await stat(folder)).mode % 0o1000).toBe(0o700);
  });

  describe.runIf(isPosix)('reads nothing that others could have seen or forged:', () => {
    /** A store with one document, and its file. */
    async function written() {
      const folder = join(await temporaryDirectory(), 'credentials');
      const store = fileCredentialStore({ folder });
      await store.write('a', { token: 'secret' });
      const [name = ''] = await readdir(folder);
      return { folder, store, file: join(folder, name) };
    }

    test.each([0o640, 0o604, 0o620, 0o602])('a file of the mode %o', async (mode) => {
      const { store, file } = await written();
      await chmod(file, mode);
      await expect(store.read('a')).rejects.toThrow(
        new RegExp(
          `^${file} is open to other users \\(mode ${mode.toString(8)}\\).*chmod 600 ${file}$`,
        ),
      );
      await chmod(file, 0o600);
      expect(await store.read('a')).toEqual({ token: 'secret' });
    });

    test('one in a folder that is open', async () => {
      const { folder, store } = await written();
      await chmod(folder, 0o750);
      await expect(store.read('a')).rejects.toThrow(
        new RegExp(`^${folder} is open to other users \\(mode 750\\).*chmod 700 ${folder}$`),
      );
    });

    test('a link, though it leads to a file of the right mode', async () => {
      const { folder, store, file } = await written();
      const elsewhere = join(folder, '..', 'elsewhere');
      await rename(file, elsewhere);
      await symlink(elsewhere, file);
      await expect(store.read('a')).rejects.toThrow(`${file} is a symbolic link`);
      await symlink(folder, `${folder}-link`);
      const linked = fileCredentialStore({ folder: `${folder}-link` });
      await expect(linked.read('a')).rejects.toThrow('is not a directory');
      await expect(linked.write('a', {})).rejects.toThrow('is not a directory');
    });

    test('a pipe, which nobody waits for', async () => {
      const { store, file } = await written();
      await rm(file);
      makeNamedPipe(file);
      await expect(store.read('a')).rejects.toThrow('is not a credential file');
    });

    // Nobody else can give a file away.
    test.runIf(process.getuid?.() === 0)("another user's file, or folder", async () => {
      const { folder, store, file } = await written();
      await chown(file, 12_345, 12_345);
      await expect(store.read('a')).rejects.toThrow(`${file} belongs to another user (id 12345)`);
      await chown(folder, 12_345, 12_345);
      const message = `${folder} belongs to another user (id 12345)`;
      await expect(store.read('a')).rejects.toThrow(message);
      await expect(store.write('a', {})).rejects.toThrow(message);
    });
  });

  test('refuses a file in the place of its folder', async () => {
    const folder = join(await temporaryDirectory({ file: '' }), 'file');
    await expect(fileCredentialStore({ folder }).write('a', {})).rejects.toThrow(/file/);
  });

  test('names a file that is none of its own', async () => {
    const folder = join(await temporaryDirectory(), 'credentials');
    const store = fileCredentialStore({ folder });
    await store.write('a', { token: 'secret' });
    const [name = ''] = await readdir(folder);
    await writeFile(join(folder, name), '{"key":"b","value":{"token":"secret"}}');
    await expect(store.read('a')).rejects.toThrow(
      `${join(folder, name)} is not a credential file of this version: remove it`,
    );
    for (const text of [
      '{"key":"a","val',
      '{"key":"a","value":7}',
      '{"key":7,"value":{}}',
      'null',
      JSON.stringify({ key: 'a', value: { token: 'x'.repeat(1024 * 1024) } }),
    ]) {
      await writeFile(join(folder, name), text);
      await expect(store.read('a'), text.slice(0, 40)).rejects.toThrow('is not a credential file');
      await expect(store.keys(), text.slice(0, 40)).rejects.toThrow('is not a credential file');
    }
  });

  test.each([
    ['linux', {}, /\.local[/\\]state[/\\]mcp-actors[/\\]credentials$/],
    ['linux', { XDG_STATE_HOME: '/s' }, /^[/\\]s[/\\]mcp-actors[/\\]credentials$/],
    ['darwin', {}, /Library[/\\]Application Support[/\\]mcp-actors[/\\]credentials$/],
    ['win32', { LOCALAPPDATA: 'C:\\l' }, /^C:\\l[/\\]mcp-actors[/\\]credentials$/],
  ] as const)('is where %s keeps state, with %j', (platform, environment, folder) => {
    expect(defaultCredentialFolder(environment, platform)).toMatch(folder);
  });
});

describe('the grants of a store', () => {
  const [one, other] = ['https://one.example.com/mcp', 'https://other.example.com/mcp'].map(
    (url) => new URL(url),
  ) as [URL, URL];
  const issuer = 'https://as.example.com';
  const grant = { issuer, client: { client_id: 'c' }, accessToken: 'a', scope: 'read' };

  test('are those of one server', async () => {
    const store = memoryCredentialStore();
    const [ours, theirs] = [new Grants(store, one), new Grants(store, other)];
    await ours.write(grant);
    await ours.writeDeclined({ at: 1, scope: undefined, kind: 'declined', message: 'no' });
    await ours.writeClient(issuer, { client_id: 'c', redirect_uris: ['http://127.0.0.1:1/'] });
    expect(await new Grants(store, new URL('#part', one)).read()).toEqual(grant);
    expect(await theirs.read()).toBeUndefined();
    await theirs.write({ ...grant, issuer: 'https://others.example.com', accessToken: 'b' });
    expect([await ours.read(), (await theirs.read())?.accessToken]).toEqual([grant, 'b']);
    expect([await theirs.declined(), await theirs.redirectUrl()]).toEqual([undefined, undefined]);
    expect(await theirs.client(issuer)).toMatchObject({ client_id: 'c' });
  });

  test('have a client for each way to log in, and for one issuer alone', async () => {
    const grants = new Grants(memoryCredentialStore(), one);
    const browser = { client_id: 'browser', redirect_uris: ['http://127.0.0.1:1/back'] };
    await grants.writeClient(issuer, { client_id: 'device', redirect_uris: ['x'] }, 'device');
    expect([await grants.client(issuer), await grants.redirectUrl()]).toEqual([
      undefined,
      undefined,
    ]);
    await grants.writeClient(issuer, browser);
    expect(await grants.client(issuer)).toEqual(browser);
    expect(await grants.client(issuer, 'device')).toMatchObject({ client_id: 'device' });
    expect(await grants.client('https://others.example.com')).toBeUndefined();
    expect(await grants.redirectUrl()).toBe('http://127.0.0.1:1/back');
    for (const first of [issuer, 'https://others.example.com', 'https://third.example.com']) {
      expect(await grants.pinnedIssuer('c', first)).toBe(issuer);
    }
  });

  test('remember who was declined, and why', async () => {
    const grants = new Grants(memoryCredentialStore(), one);
    for (const kind of ['declined', 'unanswered'] as const) {
      const declined = { at: 1, scope: 'read', kind, message: 'no' };
      await grants.writeDeclined(declined);
      expect(await grants.declined()).toEqual(declined);
    }
  });

  test('are not those that another version has written', async () => {
    const store = memoryCredentialStore();
    const grants = new Grants(store, one);
    await grants.write(grant);
    const [key = ''] = (await store.keys()).filter((each) => each.startsWith('grant '));
    for (const wrong of [
      { ...grant, accessToken: 7 },
      { ...grant, issuer: 'https://other.example.com' },
    ]) {
      await store.write(key, wrong);
      expect(await grants.read()).toBeUndefined();
    }
    await store.write(`resource ${one.href}`, { issuer: 7 });
    await store.write(`declined ${one.href}`, { at: 1, kind: 'unsafe', message: 'no' });
    await store.write(`client ${issuer}`, { client_id: 7 });
    expect(await grants.issuer()).toBeUndefined();
    expect(await grants.declined()).toBeUndefined();
    expect(await grants.client(issuer)).toBeUndefined();
  });

  test('are renewed shortly before they expire', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 });
    onTestFinished(() => void vi.useRealTimers());
    const of = { issuer, client: grant.client, resource: one.href };
    const times = (expires_in?: number) => {
      const { renewAt, expiresAt } = grantFrom({ access_token: 'a', expires_in }, 'read', of);
      return [renewAt, expiresAt];
    };
    expect(times(3600)).toEqual([4_590_000, 4_600_000]);
    expect(times(8)).toEqual([1_004_000, 1_008_000]);
    expect(times()).toEqual([undefined, undefined]);
    // A renewed grant has the times of its own token alone.
    const renewed = grantFrom({ access_token: 'b' }, 'read', {
      ...of,
      expiresAt: 1,
      renewAt: 1,
    } as never);
    expect(renewed).toMatchObject({
      ...of,
      scope: 'read',
      renewAt: undefined,
      expiresAt: undefined,
    });
    expect(grantFrom({ access_token: 'b', scope: 'less' }, 'read', of).scope).toBe('less');
  });
});

/** Another process, which takes the lock that it is told, and holds it until it is told more. */
async function startHolder(folder: string, key: string): Promise<LineProcess> {
  const holder = await LineProcess.start('packages/client/test/auth/lock-holder.ts', folder);
  onTestFinished(() => holder.kill());
  holder.tell(key);
  await holder.says(`holds ${key}`);
  return holder;
}

/** What a process that holds a lock has written into it. */
const heldBy = (pid: number, host = hostname()) => JSON.stringify({ id: 'x', pid, host });

describe('a lock between processes', () => {
  /** No number of a process, on any system. */
  const nobody = 2 ** 30;
  const quick = { pollMs: 1, touchMs: 5, staleMs: 60_000 };

  async function lockPath() {
    return join(await temporaryDirectory(), 'a.lock');
  }

  test('is held against another process, which waits', async () => {
    const folder = join(await temporaryDirectory(), 'credentials');
    const store = fileCredentialStore({ folder });
    const holder = await startHolder(folder, 'a');
    const order: string[] = [];
    const mine = store.exclusive('a', async () => void order.push('mine'));
    // As many steps as the other needs to meet the lock, and more.
    await store.exclusive('b', async () => void order.push('another key'));
    order.push('released');
    holder.tell('enough');
    await holder.says('released');
    await mine;
    expect(order).toEqual(['another key', 'released', 'mine']);
  });

  test('is taken over when its process was killed', async () => {
    const folder = join(await temporaryDirectory(), 'credentials');
    const holder = await startHolder(folder, 'a');
    const [lock = ''] = (await readdir(folder)).filter((name) => name.endsWith('.lock'));
    const before = JSON.parse(await readFile(join(folder, lock), 'utf8')) as { pid: number };
    expect(before.pid).toBe(holder.pid);
    await holder.kill();
    const store = fileCredentialStore({ folder });
    expect(await store.exclusive('a', () => Promise.resolve('mine'))).toBe('mine');
    expect(await readdir(folder)).toEqual([]);
  });

  test('that a dead process has left is got by one after the other', async () => {
    const path = await lockPath();
    await writeFile(path, heldBy(nobody));
    const [order, running] = [[] as number[], new Set<number>()];
    const work = async (n: number) => {
      expect(running.size).toBe(0);
      running.add(n);
      await stat(path);
      order.push(n);
      running.delete(n);
    };
    await Promise.all(
      [1, 2, 3, 4, 5].map((n) => withFileLock(path, () => work(n), undefined, quick)),
    );
    expect(new Set(order)).toEqual(new Set([1, 2, 3, 4, 5]));
    await expect(stat(path)).rejects.toThrow('ENOENT');
  });

  test.each([
    ['of another machine', heldBy(nobody, 'another.example.com')],
    ['of a process number that somebody has again', heldBy(process.pid)],
    ['that its maker had no time to write', ''],
  ])('%s is taken over once nobody has touched it for long', async (_, text) => {
    const path = await lockPath();
    await writeFile(path, text);
    const old = new Date(Date.now() - 61_000);
    await utimes(path, old, old);
    expect(await withFileLock(path, () => Promise.resolve(1), undefined, quick)).toBe(1);
  });

  test.each([
    ['of another machine', heldBy(nobody, 'another.example.com')],
    ['of a process that lives', heldBy(process.pid)],
    ['that its maker is writing', ''],
  ])('%s is waited for until then', async (_, text) => {
    const path = await lockPath();
    await writeFile(path, text);
    const giving = new AbortController();
    const { pausing, times } = pauses(100_000);
    const waiting = withFileLock(path, () => Promise.resolve(1), giving.signal, times);
    await pausing;
    expect(await readFile(path, 'utf8')).toBe(text);
    giving.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow(/enough|aborted/);
    expect(await readFile(path, 'utf8')).toBe(text);
  });

  /** Times that say when somebody begins to pause. */
  function pauses(pollMs: number) {
    let begin = () => {};
    const pausing = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const times = {
      ...quick,
      get pollMs() {
        begin();
        return pollMs;
      },
    };
    return { pausing, times };
  }

  test('that another process is taking over is left to that one', async () => {
    const path = await lockPath();
    await writeFile(path, heldBy(nobody));
    await writeFile(`${path}.claim`, '');
    const { pausing, times } = pauses(1);
    const waiting = withFileLock(path, () => Promise.resolve(1), undefined, times);
    await pausing;
    expect(await readFile(path, 'utf8')).toBe(heldBy(nobody));
    await rm(`${path}.claim`);
    expect(await waiting).toBe(1);
    expect(await readdir(join(path, '..'))).toEqual([]);
  });

  test('that somebody has got meanwhile is not taken over', async () => {
    const path = await lockPath();
    await writeFile(path, heldBy(nobody, 'another.example.com'));
    const old = new Date(Date.now() - 61_000);
    await utimes(path, old, old);
    const { pausing, times } = pauses(100_000);
    let looks = 0;
    const racing = {
      ...quick,
      get pollMs() {
        return times.pollMs;
      },
      // It looks twice, and between the two another process takes over.
      get staleMs() {
        if (++looks === 2) writeFileSync(path, heldBy(process.pid));
        return quick.staleMs;
      },
    };
    const giving = new AbortController();
    const waiting = withFileLock(path, () => Promise.resolve(1), giving.signal, racing);
    await pausing;
    expect(await readFile(path, 'utf8')).toBe(heldBy(process.pid));
    giving.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow(/enough|aborted/);
  });

  test('is touched while its holder works, and says who that is', async () => {
    const path = await lockPath();
    const held = gate();
    const [set, cleared] = [
      vi.spyOn(globalThis, 'setInterval'),
      vi.spyOn(globalThis, 'clearInterval'),
    ];
    onTestFinished(() => void vi.restoreAllMocks());
    const working = withFileLock(path, () => held.pass(), undefined, quick);
    await held.arrived();
    const holder = { pid: process.pid, host: hostname() };
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject(holder);
    const timers = set.mock.results
      .filter((_, at) => set.mock.calls[at]?.[1] === quick.touchMs)
      .map(({ value }) => value as NodeJS.Timeout);
    // It is no reason for a process to go on.
    expect(timers.map((timer) => timer.hasRef())).toEqual([false]);
    const old = new Date(Date.now() - 61_000);
    await utimes(path, old, old);
    await expect.poll(async () => Date.now() - (await stat(path)).mtimeMs).toBeLessThan(60_000);
    held.release();
    await working;
    expect(cleared).toHaveBeenCalledWith(timers[0]);
  });

  test('that another has taken over is left to that one', async () => {
    const path = await lockPath();
    await withFileLock(path, () => writeFile(path, heldBy(process.pid)), undefined, quick);
    expect(await readFile(path, 'utf8')).toBe(heldBy(process.pid));
  });

  test('that another holder in the same process has taken over is left to that one', async () => {
    const path = await lockPath();
    const [first, second] = [gate(), gate()];
    // The first one touches nothing: its lock is as old as the test says.
    const idle = { ...quick, touchMs: 1_000_000 };
    const working = withFileLock(path, () => first.pass(), undefined, idle);
    await first.arrived();
    const old = new Date(Date.now() - 61_000);
    await utimes(path, old, old);
    const taking = withFileLock(path, () => second.pass(), undefined, idle);
    await second.arrived();
    first.release();
    await working;
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ pid: process.pid });
    second.release();
    await taking;
    await expect(stat(path)).rejects.toThrow('ENOENT');
  });

  test('is got although a process has died while it took one over', async () => {
    const path = await lockPath();
    await writeFile(path, heldBy(nobody));
    await writeFile(`${path}.claim`, '');
    const old = new Date(Date.now() - 61_000);
    await utimes(`${path}.claim`, old, old);
    expect(await withFileLock(path, () => Promise.resolve(1), undefined, quick)).toBe(1);
  });

  test('that cannot be made says why', async () => {
    const path = join(await temporaryDirectory(), 'missing', 'a.lock');
    await expect(withFileLock(path, () => Promise.resolve(1))).rejects.toThrow('ENOENT');
  });
});
