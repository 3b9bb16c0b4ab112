/** `cancel` for every long-running command (docs/maintaining/driver.md). */
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { small } from './driver-commands.ts';
import { sharedDriver, startDriver } from './driver-process.ts';
import type { DriverProcess } from './driver-process.ts';
import { reapServers } from './server-process.ts';

afterEach(reapServers);

const takeDriver = sharedDriver();

const odd = fileURLToPath(new URL('../../packages/client/test/odd-server.mjs', import.meta.url));
const never = 600_000;

/** Cancels a command and returns its error code. */
async function cancelled(driver: DriverProcess, target: string): Promise<unknown> {
  expect(await driver.run({ op: 'cancel', target, reason: 'enough' })).toEqual({});
  const { error } = await driver.result(target);
  return (error as { readonly code: string } | undefined)?.code;
}

const connecting = (driver: DriverProcess, name: string) =>
  driver.told.find(({ name: its, state }) => its === name && state === 'connecting');

describe('a cancelled driver command ends with CANCELLED', () => {
  test('for connect, and leaves no connection behind', async () => {
    const driver = takeDriver();
    const options = { connectMs: never, stop: { stdinMs: 1, termMs: 1 } };
    const target = driver.send({ op: 'connect', name: 'a', server: small('--deaf'), options });
    await connecting(driver, 'a');
    expect(await cancelled(driver, target)).toBe('CANCELLED');
    await driver.told.find(({ state }) => state === 'closed');
    // The connection's name can be used again.
    await driver.run({ op: 'connect', name: 'a', server: small('one') });
  });

  test('for connect cancelled in the same turn', async () => {
    const driver = startDriver();
    const connect = { op: 'connect', ref: 'c', name: 'a', server: small('--deaf') };
    const cancel = { op: 'cancel', ref: 'd', target: 'c' };
    driver.line(`${JSON.stringify(connect)}\n${JSON.stringify(cancel)}`);
    expect(await driver.result('c')).toMatchObject({ ok: false, error: { code: 'CANCELLED' } });
  });

  test('for manager, and leaves no servers behind', async () => {
    const driver = startDriver();
    const mcpServers = { a: small('one'), deaf: small('--deaf') };
    const options = { startupMs: never, connectMs: never, stop: { stdinMs: 1, termMs: 1 } };
    const target = driver.send({ op: 'manager', config: { mcpServers }, options });
    await connecting(driver, 'deaf');
    expect(await cancelled(driver, target)).toBe('CANCELLED');
    for (const server of Object.keys(mcpServers))
      await driver.told.find(({ name, state }) => name === server && state === 'closed');
  });

  test('for reconnect, and the connection continues', async () => {
    const driver = takeDriver();
    const server = { command: process.execPath, args: [odd, 'silent'] };
    driver.send({ op: 'connect', name: 'a', server, options: { connectMs: never } });
    await connecting(driver, 'a');
    const target = driver.send({ op: 'reconnect', name: 'a' });
    expect(await cancelled(driver, target)).toBe('CANCELLED');
    expect(await driver.run({ op: 'state', name: 'a' })).toMatchObject({ state: 'connecting' });
  });

  test('for setRoots while disconnected', async () => {
    const driver = takeDriver();
    const restart = { initialMs: never, maxMs: never, factor: 1, maxAttempts: 1 };
    const providers = { roots: { roots: [] } };
    const options = { era: 'legacy', restart, providers };
    await driver.run({ op: 'connect', name: 'a', server: small('die'), options });
    await driver.fail({ op: 'callTool', name: 'a', tool: 'die' });
    await driver.told.find(({ state }) => state === 'backoff');
    const target = driver.send({ op: 'setRoots', name: 'a', roots: [] });
    expect(await cancelled(driver, target)).toBe('CANCELLED');
  });

  test('for close, and closing continues', async () => {
    const driver = startDriver();
    const server = { command: process.execPath, args: [odd, 'endless'] };
    await driver.run({ op: 'connect', name: 'a', server, options: { stop: { stdinMs: never } } });
    const { content } = await driver.run({ op: 'callTool', name: 'a', tool: 'read' });
    const target = driver.send({ op: 'close', name: 'a' });
    await driver.told.find(({ state }) => state === 'closing');
    expect(await cancelled(driver, target)).toBe('CANCELLED');
    const [{ text }] = content as readonly [{ readonly text: string }];
    process.kill(Number(text.replace('by ', '')));
    await driver.told.find(({ state }) => state === 'closed');
  });
});
