import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bookingMachine } from '../../../examples/booking/booking.machine.ts';
import { program } from '../../../test/tooling/programs.ts';
import { charts } from '../../../src/charts.ts';
import { machineDefinition, mermaidDiagram, svgDiagram } from '@mcp-actors/inspector/diagrams';
import { command } from '../src/diagram.ts';

const repository = join(import.meta.dirname, '../../..');
const cli = join(import.meta.dirname, '../dist/cli.js');

/** Every chart that the runtime has, by name. */
const names = Object.keys(charts).join(', ');

/** The command as it is built. */
function diagram(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, 'diagram', ...args], {
    cwd: repository,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

describe('mcp-actors diagram', () => {
  test("prints the session's chart for Mermaid", () => {
    const stdout = mermaidDiagram(charts.session);
    expect(diagram()).toEqual({ status: 0, stdout, stderr: '' });
  });

  test('prints a picture', () => {
    const stdout = svgDiagram(charts.keepalive);
    expect(diagram('keepalive', '--format=svg')).toEqual({ status: 0, stdout, stderr: '' });
  });

  test('prints a definition that others can read', () => {
    const { stdout } = diagram('--format', 'json', 'task');
    expect(JSON.parse(stdout)).toEqual(machineDefinition(charts.task));
  });

  test('writes to a file, over what is there', async () => {
    const base = mkdtempSync(join(tmpdir(), 'mcp-actors-'));
    onTestFinished(() => rmSync(base, { recursive: true }));
    const file = join(base, 'roots.mmd');
    for (let times = 0; times < 2; times++) {
      expect(await command.run(['roots', '--output', file], import.meta.url)).toBe(0);
      expect(readFileSync(file, 'utf8')).toBe(mermaidDiagram(charts.roots));
    }
  });

  test('has a help text with names and formats', () => {
    const { status, stdout } = diagram('--help');
    expect(status).toBe(0);
    expect(stdout).toContain(`generated from its code: ${names}.`);
    expect(stdout).toContain('--format mermaid|svg|json');
  });

  test('called wrongly exits with 2 and one line', () => {
    expect(diagram('rooots')).toEqual({
      status: 2,
      stdout: '',
      stderr: `mcp-actors: Unknown machine "rooots"; known: ${names}\n`,
    });
  });

  test.each([
    [['--format=png'], '--format must be one of mermaid, svg, json'],
    [['roots', 'task'], 'diagram takes one name, got 2'],
    [['./a.js', 'b', 'c'], 'diagram takes a file and one name, got 3'],
    [['./nowhere.js'], '"./nowhere.js" cannot be loaded: Cannot find module'],
    [['toString'], 'Unknown machine "toString"'],
    [['--forma=svg'], 'Unknown option --forma. Did you mean --format?'],
    [['--output='], '--output needs FILE'],
    [['--output=/nowhere/at/all'], '--output: "/nowhere/at/all" cannot be written: ENOENT'],
  ])('%j is refused', async (args, message) => {
    await expect(command.run(args, import.meta.url)).rejects.toThrow(message);
  });
});

describe('of a module of one’s own', () => {
  const [booking] = program('examples/booking/server.ts');
  const [lab] = program('examples/lab/server.ts');
  const relative = (path: string) => path.slice(`${repository}/`.length);

  test('is drawn the tool that is a machine, and its server does not serve', () => {
    const stdout = mermaidDiagram(bookingMachine);
    expect(diagram(booking)).toEqual({ status: 0, stdout, stderr: '' });
    expect(diagram('--format=json', relative(booking), 'book')).toMatchObject({
      status: 0,
      stdout: `${JSON.stringify(machineDefinition(bookingMachine), undefined, 2)}\n`,
    });
  });

  test('is drawn a machine that it exports, by its id, also as a picture', () => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-actors-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'two.mjs');
    const xstate = JSON.stringify(import.meta.resolve('xstate'));
    const machines = ['first', 'second'].map(
      (id) =>
        `export const ${id} = createMachine({ id: '${id}', initial: 'a', states: { a: {} } });`,
    );
    const source = [`import { createMachine } from ${xstate};`, ...machines, 'export default 7;'];
    writeFileSync(file, source.join('\n'));
    const { status, stdout } = diagram(file, 'second', '--format', 'svg');
    expect([status, stdout]).toEqual([
      0,
      expect.stringMatching(/^<svg [^]*>second<[^]*<\/svg>\n$/),
    ]);
    expect(diagram(file)).toMatchObject({
      status: 2,
      stderr: `mcp-actors: ${JSON.stringify(file)} has several machines; name one: first, second\n`,
    });
    expect(diagram(file, 'third')).toMatchObject({
      status: 2,
      stderr: `mcp-actors: Unknown machine "third" in ${JSON.stringify(file)}; known: first, second\n`,
    });
  });

  test('that has none is told so', () => {
    const { status, stdout, stderr } = diagram(lab);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(
      /has no machine: export a machine, a machine tool, or a server with one/,
    );
  });
});
