import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { svgDiagram } from '../../src/inspect/charts/chart-svg.ts';
import { charts, mermaidDiagram } from '../../src/inspect/charts/diagram.ts';
import { machineDefinition } from '../../src/inspect/charts/machine-definition.ts';
import { command } from '../../src/cli/diagram.ts';

const cli = join(import.meta.dirname, '../../dist/bin/cli.js');

/** The command as it is built. */
function diagram(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, 'diagram', ...args], {
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
    const stdout = svgDiagram('keepalive');
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
    expect(stdout).toContain('drawn from its code: session, roots, keepalive, task, subscription.');
    expect(stdout).toContain('--format mermaid|svg|json');
  });

  test('called wrongly exits with 2 and one line', () => {
    expect(diagram('rooots')).toEqual({
      status: 2,
      stdout: '',
      stderr:
        'mcp-actors: There is no machine "rooots"; there are session, roots, keepalive, task, subscription\n',
    });
  });

  test.each([
    [['--format=png'], '--format: "png" is not one of mermaid, svg, json'],
    [['roots', 'task'], 'diagram takes one name, these are 2'],
    [['toString'], 'There is no machine "toString"'],
    [['--forma=svg'], 'Unknown option --forma. Did you mean --format?'],
    [['--output='], '--output needs FILE'],
    [['--output=/nowhere/at/all'], '--output: "/nowhere/at/all" cannot be written to: ENOENT'],
  ])('%j is refused', async (args, message) => {
    await expect(command.run(args, import.meta.url)).rejects.toThrow(message);
  });
});
