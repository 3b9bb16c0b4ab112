/** A module in development: its host stays connected, and its next call runs the newest code. */
import { execFileSync, spawnSync } from 'node:child_process';
import { connect } from 'mcp-actors/client';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { gate } from 'mcp-actors/testing';
import { modern } from '../../../../test/e2e/both-eras-client.ts';
import { launchHttp } from '../../../../test/e2e/http-process.ts';
import { gone, reapServers, command } from '../../../../test/e2e/server-process.ts';
import { callTool } from '../../../http/test/modern/modern-client.ts';
import { freePort } from '../../../../test/tooling/free-port.ts';
import { DevProject, moduleWith, says } from './dev-project.ts';
import { atTerminal, hasTerminals } from './terminal.ts';

const accept = { action: 'accept', content: {} } as const;
const asks = (answer: string) => `tool('ask', async (_, context) => {
  const { action } = await context.elicit({ message: 'Sure?', schema: { type: 'object', properties: {} } });
  return ${JSON.stringify(answer)} + ' ' + action;
})`;
const machine = (
  state: string,
  answer: string,
) => `defineTool({ name: 'order', description: 'Orders.',
  machine: createMachine({ id: 'order', initial: '${state}', output: '${answer}', states: {
    ${state}: { tags: 'waiting', on: { 'answer.*': 'done' },
      meta: { ask: { elicit: { message: 'Sure?', schema: { type: 'object', properties: {} } } } } },
    done: { type: 'final' } } }) })`;

/** How often the code is changed in the test that looks for what is left. */
const reloads = Number(process.env['RELOADS'] ?? 3);

/** The processes that this one has started. */
function childrenOf(pid: number): readonly number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).split('\n');
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([child = 0, parent]) => (parent === pid ? [child] : []));
}

describe('on a save', { timeout: 180_000 }, () => {
  test('the next call runs the new code, in the session and with the subscriptions that there are', async () => {
    const project = new DevProject();
    const touch = `tool('touch', () => { server.resourceUpdated('note://one'); return 'touched'; })`;
    project.save(moduleWith(`${says('one')}, ${touch}`, `console.log('on stdout');`));
    const host = await project.host({ capabilities: { elicitation: {} } });
    const { client, pid } = host;
    const told: string[] = [];
    client.fallbackNotificationHandler = async ({ method }) => void told.push(method);
    await client.subscribeResource({ uri: 'note://one' });
    expect(await host.call('say')).toBe('one');

    project.save(moduleWith(`${says('two')}, ${touch}`));
    expect(await host.call('say')).toBe('two');
    await host.call('touch');
    await expect.poll(() => told).toContain('notifications/resources/updated');
    // Their descriptions are the same.
    expect(told).not.toContain('notifications/tools/list_changed');

    project.save(moduleWith(`${says('three')}, ${asks('old')}`));
    await expect.poll(() => told).toContain('notifications/tools/list_changed');
    const held = gate();
    client.setRequestHandler('elicitation/create', async () => {
      await held.pass();
      return accept;
    });
    const asked = host.call('ask');
    await held.arrived();
    project.save(moduleWith(`${says('four')}, ${asks('new')}`));
    expect(await host.call('say')).toBe('four');
    held.release();
    expect(await asked).toBe('old accept');
    expect(await host.call('ask')).toBe('new accept');

    // Code that never ends holds up its own process alone. It waits for what never comes: a loop would take a processor until it is given up.
    const never = `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`;
    project.save(moduleWith(`tool('stop', () => { console.log('for ever'); ${never}; })`));
    const endless = host.call('stop').catch(String);
    await expect.poll(() => host.stderr).toContain('for ever');
    project.save(moduleWith(says('five')));
    expect(await host.call('say')).toBe('five');
    expect(await endless).toContain('The server has closed');
    expect(host.pid).toBe(pid);
    expect(host.stderr).toContain('on stdout');
  });

  test('code that cannot be loaded leaves the old one running, and the model is told once', async () => {
    const project = new DevProject('ts');
    project.save('export const nothing = 1;');
    const host = await project.host();
    const told: string[] = [];
    host.client.fallbackNotificationHandler = async ({ method }) => void told.push(method);
    expect((await host.client.listTools()).tools).toEqual([]);
    expect(await host.call('say')).toMatch(/CODE_FAILED: .*\n.*has no server: export the server/);

    project.save(`import { text } from './text.ts';\n${moduleWith(`tool('say', () => text)`)}`);
    project.save(`export const text: string = 'mended';`, 'text.ts');
    await expect.poll(() => told).toContain('notifications/tools/list_changed');
    expect(await host.call('say')).toBe('mended');

    project.save('export const text = ;', 'text.ts');
    const failed = await host.call('say');
    expect(failed).toMatch(/CODE_FAILED[^]*text\.ts:1:\d+: ERROR: Unexpected ";"[^]*still runs/);
    expect(host.stderr).toContain('ERROR: Unexpected ";"');
    expect(await host.call('say')).toBe('mended');

    project.save(`export const text = ''; process.exit(3);`, 'text.ts');
    expect(await host.call('say')).toContain('ended with exit code 3 while loading');
    project.save(`export const text = 'last';`, 'text.ts');
    expect(await host.call('say')).toBe('last');
    // A server that is exported will do as well.
    const exported = moduleWith(says('exported')).replace(
      'await serve(server)',
      'export default server',
    );
    project.save(exported);
    expect(await host.call('say')).toBe('exported');
  });

  test('a handler that waits goes on with its code, a machine in its state with the new one', async () => {
    const project = new DevProject();
    const tools = (state: string, text: string) =>
      moduleWith(`${asks(text)}, ${machine(state, text)}`);
    project.save(tools('confirming', 'old'));
    const host = await project.host({
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: modern },
    });
    const saved: string[] = [];
    host.client.setRequestHandler('elicitation/create', () => {
      for (const text of saved.splice(0)) project.save(text);
      return accept;
    });
    saved.push(tools('confirming', 'new'));
    expect(await host.call('ask')).toBe('old accept');
    expect(await host.call('ask')).toBe('new accept');
    saved.push(tools('confirming', 'newer'));
    expect(await host.call('order')).toBe('newer');
    saved.push(tools('agreeing', 'newest'));
    expect(await host.call('order')).toContain(
      'NOT_RESUMABLE: The call cannot be resumed: the machine "order" no longer has its state "confirming"',
    );
    expect(await host.call('order')).toBe('newest');
  });

  test(
    'nothing is left of the code before, however often',
    { timeout: reloads * 60_000 },
    async () => {
      const project = new DevProject();
      project.save(moduleWith(says('0')));
      const host = await project.host();
      const seen = new Set<number>();
      for (let time = 1; time <= reloads; time++) {
        project.save(moduleWith(says(`${time}`)));
        expect(await host.call('say')).toBe(`${time}`);
        for (const pid of childrenOf(host.pid)) seen.add(pid);
      }
      // That which serves, and the next one. The ids of others may be those of strangers by now.
      await expect.poll(() => childrenOf(host.pid).length).toBeLessThanOrEqual(2);
      const left = childrenOf(host.pid);
      expect(seen.size).toBeGreaterThanOrEqual(Math.min(reloads, 3));
      await host.client.close();
      for (const pid of left) await gone(pid);
    },
  );

  test('a command that is killed takes its code along, whatever that does, and what that has started', async () => {
    const project = new DevProject();
    project.save(
      moduleWith(
        `tool('loop', () => {
          const helper = spawn('sleep', ['1000'], { stdio: 'ignore' });
          helper.once('spawn', () => { console.error('started', helper.pid); for (;;); });
        })`,
        `import { spawn } from 'node:child_process';`,
      ),
    );
    const host = await project.host();
    const ended = host.call('loop').catch(String);
    await expect.poll(() => host.stderr, { timeout: 60_000 }).toMatch(/started \d+/);
    const helper = Number(/started (\d+)/.exec(host.stderr)?.[1]);
    const code = childrenOf(host.pid);
    expect(code.length).toBeGreaterThan(0);
    process.kill(host.pid, 'SIGKILL');
    await ended;
    for (const pid of [...code, helper]) await gone(pid);
  });

  test('serve --watch does the same', async () => {
    const project = new DevProject();
    project.save(moduleWith(says('one')));
    const host = await project.host({}, ['serve', '--watch']);
    expect(await host.call('say')).toBe('one');
    project.save(moduleWith(says('two')));
    expect(await host.call('say')).toBe('two');
    const refused = spawnSync(
      process.execPath,
      [...command, 'serve', `--watch=${project.main}`, '.'],
      {
        cwd: project.folder,
        encoding: 'utf8',
      },
    );
    expect(refused).toMatchObject({ status: 2, stdout: '' });
    expect(refused.stderr).toContain('One thing is served: give either --watch or a module');
  });
});

test('a list that fails is reported, and the rest is served', async () => {
  const project = new DevProject();
  const template = `defineResourceTemplate({ uriTemplate: 'note://{n}', name: 'note',
    list: () => { throw new Error('no notes') }, read: () => 'text' })`;
  const more = `import { defineResourceTemplate } from 'mcp-actors';`;
  const text = moduleWith(says('one'), more);
  project.save(text.replace('resources: [', `resourceTemplates: [${template}],\n  resources: [`));
  const host = await project.host();
  expect(await host.call('say')).toBe('one');
  await expect.poll(() => host.stderr).toContain('The list of resources failed');
  await expect.poll(() => host.stderr).toContain('serves: 1 tool');
});

test('a module that talks to a process manager is served', async () => {
  const project = new DevProject();
  const talks = `process.send?.('ready'); process.send?.(null); process.disconnect?.();`;
  project.save(moduleWith(says('one'), talks));
  const host = await project.host();
  expect(await host.call('say')).toBe('one');
  project.save(moduleWith(says('two'), talks));
  expect(await host.call('say')).toBe('two');
});

describe('over HTTP', () => {
  afterEach(reapServers);

  test('headers of a call are checked against its arguments before anybody has listed the tools', async () => {
    const project = new DevProject();
    const schema = `{ type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }`;
    const deploy = `defineTool({ name: 'deploy', description: 'Deploys', inputSchema: ${schema}, handler: () => 'deployed' })`;
    const template = `defineResourceTemplate({ uriTemplate: 'note://{n}', name: 'note', read: () => 'text' })`;
    const more = `import { defineResourceTemplate } from 'mcp-actors';`;
    const text = moduleWith(deploy, more).replace(
      'resources: [',
      `resourceTemplates: [${template}],
      resources: [`,
    );
    project.save(text);
    const { server, url } = await launchHttp(
      [...command, 'dev', '--http', '0', '--log-level', 'info', project.main],
      { cwd: project.folder },
    );
    const call = (said: string) =>
      callTool(url, 'deploy', { region: 'east' }, { headers: { 'mcp-param-region': said } });
    expect(await call('west')).toMatchObject({ status: 400, error: { code: -32020 } });
    expect(await call('east')).toMatchObject({ status: 200 });
    await expect
      .poll(() => server.stderr)
      .toContain('serves: 1 tool, 1 resource, 1 resource template');
  });
});

describe.skipIf(!hasTerminals)('at a terminal, over HTTP', () => {
  test('calls are shown, r repeats the last one with the newest code, and q ends', async () => {
    const project = new DevProject();
    project.save(moduleWith(says('one')));
    const port = await freePort();
    const screen = atTerminal(
      ['dev', '--http', `${port}`, `${project.folder}/${project.main}`],
      project.folder,
    );
    await screen.shows('serves: 1 tool, 1 resource');
    const connection = await connect({ url: `http://127.0.0.1:${port}/mcp` });
    onTestFinished(() => connection.close());
    expect(await connection.callTool('say')).toMatchObject({ content: [{ text: 'one' }] });
    await screen.shows('tools/call say');
    project.save(moduleWith(says('two')));
    screen.press('r');
    await screen.shows('"text": "two"');
    screen.press('q');
    expect((await screen.ended).code).toBe(0);
  });
});
