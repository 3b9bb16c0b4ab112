/** The stores of a host's credentials: their contract, and what files promise besides. */
import {
  chmod,
  chown,
  mkdir,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { credentialStoreContract, gate } from 'mcp-actors/testing';
import { memoryCredentialStore } from '../../../src/client/auth/credential-store.ts';
import { withFileLock } from '../../../src/client/auth/file-lock.ts';
import {
  defaultCredentialFolder,
  fileCredentialStore,
} from '../../../src/client/auth/file-store.ts';
import { temporaryDirectory } from '../../roots/temporary-directory.ts';
import { makeNamedPipe } from '../../roots/named-pipe.ts';
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
    expect((await stat(folder)).mode % 0o1000).toBe(0o700);
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
      `Credentials cannot be kept in ${folder}: others may open it (mode 755)`,
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
      await expect(fileCredentialStore({ folder: `${folder}-link` }).read('a')).rejects.toThrow(
        'it is no directory',
      );
    });

    test('a pipe, which nobody waits for', async () => {
      const { store, file } = await written();
      await rm(file);
      makeNamedPipe(file);
      await expect(store.read('a')).rejects.toThrow('holds no credentials');
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
      `${join(folder, name)} holds no credentials as this version writes them; remove it`,
    );
    await writeFile(join(folder, name), '{"key":"a","val');
    await expect(store.read('a')).rejects.toThrow('holds no credentials');
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

/** Another process, which takes the lock that it is told, and holds it until it is told more. */
async function startHolder(folder: string, key: string): Promise<LineProcess> {
  const holder = await LineProcess.start('test/client/auth/lock-holder.ts', folder);
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
    const waiting = withFileLock(path, () => Promise.resolve(1), giving.signal, {
      ...quick,
      pollMs: 100_000,
    });
    // As many steps as it needs to look at the lock, and more.
    for (let n = 0; n < 3; n++) {
      await withFileLock(`${path}.other`, () => Promise.resolve(n), undefined, quick);
    }
    giving.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow(/enough|aborted/);
    expect(await readFile(path, 'utf8')).toBe(text);
  });

  test('is touched while its holder works', async () => {
    const path = await lockPath();
    const held = gate();
    const working = withFileLock(path, () => held.pass(), undefined, quick);
    await held.arrived();
    const old = new Date(Date.now() - 61_000);
    await utimes(path, old, old);
    await expect.poll(async () => Date.now() - (await stat(path)).mtimeMs).toBeLessThan(60_000);
    held.release();
    await working;
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
