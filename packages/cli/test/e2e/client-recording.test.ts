/** `--record` of call and shell, and `mcp-actors replay` of what it has written. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expectReplay } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { runCommand, smallServer, temporaryFolder } from './client-command.ts';

const [program, script] = smallServer;

test('call records its connection, and replay plays it and tells the first difference', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'call.jsonl');
  const line = ['call', '--record', file, 'one', 'text=hi', '--', ...smallServer, 'one'];
  expect(await runCommand(line)).toMatchObject({ code: 0, stdout: 'one hi\n' });
  const replayed = await runCommand(['replay', file]);
  expect(replayed).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('as recorded') as string,
  });
  const text = readFileSync(file, 'utf8');
  expect(text).not.toContain(script);
  const other = join(folder, 'other.jsonl');
  writeFileSync(other, text.replaceAll('"to":"ready.fresh"', '"to":"ready.stale"'));
  const { code, stdout } = await runCommand(['replay', other]);
  expect([code, stdout]).toEqual([1, expect.stringContaining('ready.stale') as string]);
  await expect(expectReplay(other)).rejects.toThrow('in the connection machine');
  await expectReplay(file);
  const again = await runCommand(line);
  expect([again.code, again.stderr]).toEqual([
    2,
    expect.stringContaining('is there already') as string,
  ]);
});

test('of several servers each has its file, also one that is killed and made again', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'mcp.json');
  const entry = (...tools: readonly string[]) => ({ command: program, args: [script, ...tools] });
  writeFileSync(file, JSON.stringify({ mcpServers: { a: entry('one', 'die'), b: entry('two') } }));
  const lines = [
    'call a__one',
    'call a__die',
    'call a__one',
    'call b__two',
    'reconnect b',
    'call b__two',
  ];
  const { stdout } = await runCommand(
    ['shell', file, '--record', join(folder, 'mine.jsonl')],
    `${lines.join('\n')}\n`,
  );
  expect(stdout).toContain('one\n');
  expect(readFileSync(join(folder, 'mine-a.jsonl'), 'utf8')).toContain('"link":"lost"');
  for (const name of ['a', 'b']) {
    const { note } = await expectReplay(join(folder, `mine-${name}.jsonl`));
    expect(note).toBeUndefined();
  }
});

test('call and shell record no more than --record-limit, and secrets as they are if that is wanted', async () => {
  const folder = temporaryFolder();
  const secret = 'Bearer abcdefghijklmnopqrstuvwxyz012345';
  const record = (file: string, ...options: readonly string[]) => [
    ...['call', '--record', join(folder, file), ...options, 'one', `text=${secret}`],
    ...['--', ...smallServer, 'one'],
  ];
  const linesOf = (file: string) => readFileSync(join(folder, file), 'utf8');
  expect(await runCommand(record('plain.jsonl'))).toMatchObject({ code: 0 });
  expect(linesOf('plain.jsonl')).not.toContain(secret);
  expect(await runCommand(record('all.jsonl', '--record-unredacted'))).toMatchObject({ code: 0 });
  expect(linesOf('all.jsonl')).toContain(secret);
  const short = record('short.jsonl', '--record-limit', '4KiB');
  expect(await runCommand(short)).toMatchObject({ code: 0, stdout: `one ${secret}\n` });
  expect(linesOf('short.jsonl').length).toBeLessThan(linesOf('plain.jsonl').length);
  expect(linesOf('short.jsonl').trimEnd().split('\n').at(-1)).toContain('"stopped"');
  const shell = ['shell', '--record-limit', '1MiB', '--', ...smallServer, 'one'];
  const { code, stderr } = await runCommand(shell);
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('--record-limit needs --record FILE') as string,
  ]);
});
