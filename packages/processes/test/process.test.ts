/** Every row of a process's chart with a real process; the process table is looked at afterwards. */
import { afterEach, describe, expect, test } from 'vitest';
import { HeldClock } from '../../../test/actors/held-clock.ts';
import { expectEmpty, membersOf, processTable } from './process-table.ts';
import { endAll, script, start } from './started.ts';

afterEach(endAll);

const soon = { inputMs: 20, terminateMs: 20 };

describe.each([{ isWatched: true }, { isWatched: false }])('a process, %o', (watching) => {
  test('exits when its stdin closes [PROC-01]', async () => {
    const server = start('cat', [], watching);
    const { pid } = await server.told('process.launched');
    server.stop();
    expect(await server.gone).toMatchObject({ group: 'empty' });
    expect(server.order).toEqual(['launched', 'exited', 'gone']);
    expect(server.reports[1]).toMatchObject({ code: 0, signal: null });
    expectEmpty(pid);
  });

  test('gets SIGTERM if it ignores the end of stdin [PROC-01]', async () => {
    const server = script('echo up; exec sleep 1000', { ...watching, times: { inputMs: 20 } });
    await server.line();
    server.stop();
    await server.gone;
    expect(server.reports[1]).toMatchObject({ code: null, signal: 'SIGTERM' });
    expectEmpty(server.pid as number);
  });

  test('is killed with its descendants if it ignores SIGTERM [PROC-01]', async () => {
    const deaf = 'trap "" TERM; sleep 1000 & echo up; while :; do sleep 1000; done';
    const server = script(deaf, { ...watching, times: soon });
    await server.line();
    server.stop();
    await server.gone;
    expect(server.reports[1]).toMatchObject({ code: null, signal: 'SIGKILL' });
    expect(server.states).toContain('launched.child.running,group.ending.killed');
    expectEmpty(server.pid as number);
  });

  test('is terminated even while stopped by job control', async () => {
    const server = script('echo up; kill -STOP $$; sleep 1000', {
      ...watching,
      times: { inputMs: 20 },
    });
    await server.line();
    server.stop();
    await server.gone;
    expect(server.reports[1]).toMatchObject({ signal: 'SIGTERM' });
  });

  test('reports its exit code after a crash and ends its descendants [PROC-03]', async () => {
    const server = script('sleep 1000 >/dev/null 2>&1 & echo $!; exit 3', watching);
    const helper = Number(await server.line());
    expect(await server.told('process.exited')).toMatchObject({ code: 3, signal: null });
    expect(await server.gone).toMatchObject({ group: 'empty' });
    expectEmpty(server.pid as number);
    expect(processTable().map(({ pid }) => pid)).not.toContain(helper);
  });

  test('reports the signal that killed it', async () => {
    const server = script('echo up; kill -SEGV $$', watching);
    expect(await server.told('process.exited')).toMatchObject({ code: null, signal: 'SIGSEGV' });
    await server.gone;
  });

  test('counts as exited while a helper holds its stdout, and its output is read [PROC-04]', async () => {
    // The helper ignores SIGTERM: it holds the pipe until it is killed.
    const holder = '(trap "" TERM; echo first; sleep 1000) & read go; echo last; exit 4';
    const clock = new HeldClock(300);
    const server = script(holder, { ...watching, clock, times: { terminateMs: 300 } });
    expect(await server.line()).toBe('first');
    server.stdin?.write('go\n');
    const exited = server.told('process.exited');
    expect(await server.line()).toBe('last');
    expect(await exited).toMatchObject({ code: 4 });
    expect(membersOf(server.pid as number).map(({ command }) => command)).toContain('sleep 1000');
    clock.letGo();
    await server.outputEnded();
    await server.gone;
    expectEmpty(server.pid as number);
  });

  test('ends together with the process it wraps, as npx does [PROC-03]', async () => {
    const server = script("sh -c 'echo $$; cat; true'; exit 7", watching);
    const inner = Number(await server.line());
    expect(membersOf(server.pid as number).map(({ pid }) => pid)).toContain(inner);
    server.stop();
    await server.gone;
    expect(server.reports[1]).toMatchObject({ code: 7 });
    expectEmpty(server.pid as number);
  });

  test('ends all processes of npm', async () => {
    const server = start('npm', ['exec', '--offline', '-c', 'cat; true'], watching);
    await server.told('process.launched');
    server.stdin?.write('up\n');
    expect(await server.line()).toBe('up');
    const pid = server.pid as number;
    // npm, a shell and the server; the wrapper alone is killed.
    expect(membersOf(pid).length).toBeGreaterThanOrEqual(3);
    process.kill(pid, 'SIGKILL');
    expect(await server.gone).toMatchObject({ group: 'empty' });
    expectEmpty(pid);
  });

  test('gives the wrapped process time if the wrapper exits first', async () => {
    // The one inside does not read, and the wrapper does.
    const server = script('sleep 1000 & echo $!; cat; exit 0', watching);
    const inner = Number(await server.line());
    server.stop();
    await server.told('process.exited');
    expect(server.actor.getSnapshot().value).toMatchObject({
      launched: { group: { ending: 'stdinClosed' } },
    });
    expect(membersOf(server.pid as number).map(({ pid }) => pid)).toContain(inner);
    server.kill();
    await server.gone;
    expectEmpty(server.pid as number);
  });

  test('is stopped only once despite repeated requests', async () => {
    const server = script('echo up; cat >/dev/null; echo bye', watching);
    await server.line();
    for (let times = 0; times < 5; times++) server.stop();
    expect(await server.line()).toBe('bye');
    await server.gone;
    expect(server.order).toEqual(['launched', 'exited', 'gone']);
  });

  test('is killed immediately on request while stopping', async () => {
    const server = script('trap "" TERM; echo up; while :; do sleep 1000; done', watching);
    await server.line();
    server.stop();
    server.kill();
    await server.gone;
    expect(server.reports[1]).toMatchObject({ signal: 'SIGKILL' });
  });

  test('is never started if stopped while being located', async () => {
    const server = script('echo up', watching);
    server.stop();
    expect(await server.gone).toMatchObject({ group: 'empty' });
    expect(server.order).toEqual(['gone']);
    expect(server.stdin).toBeUndefined();
  });

  test('is killed with its descendants when its actor stops', async () => {
    const server = script('sleep 1000 & echo $!; cat', watching);
    await server.line();
    const pid = server.pid as number;
    server.actor.stop();
    await expect.poll(() => membersOf(pid)).toEqual([]);
  });

  test('leads its own session, detached from the terminal [PROC-08]', async () => {
    const server = start('cat', [], watching);
    const { pid } = await server.told('process.launched');
    const [leader] = membersOf(pid).filter((member) => member.pid === pid);
    expect(leader).toMatchObject({ group: pid, session: pid, parent: process.pid });
  });

  test('has no foreign children', async () => {
    const server = start('cat', [], watching);
    const { pid } = await server.told('process.launched');
    server.stdin?.write('up\n');
    await server.line();
    expect(membersOf(pid)).toHaveLength(watching.isWatched ? 2 : 1);
    expect(processTable().filter(({ parent }) => parent === pid)).toEqual([]);
  });

  test('gets its arguments unchanged by any shell [PROC-09]', async () => {
    const odd = ['$HOME', '"', "'", '; exit 9', '*', '', 'a\nb', '-e', '`id`', 'ü'];
    const print = 'process.stdout.write(JSON.stringify(process.argv.slice(1))+"\\n")';
    const server = start(process.execPath, ['-e', print, '--', ...odd], watching);
    expect(JSON.parse(await server.line())).toEqual(odd);
    await server.gone;
  });

  test('gets exactly the given environment [PROC-06]', async () => {
    const server = start('env', [], { ...watching, env: { ONE: 'a b', HOME: '/nowhere' } });
    const lines = await server.lines();
    await server.gone;
    const names = lines.map((line) => line.split('=')[0]);
    const allowed = /^(ONE|HOME|LOGNAME|PATH|SHELL|TERM|USER|LANG|LC_\w+|TMPDIR)$/;
    expect(names.filter((name) => !allowed.test(name as string))).toEqual([]);
    expect(lines).toContain('ONE=a b');
    expect(lines).toContain('HOME=/nowhere');
  });
});
