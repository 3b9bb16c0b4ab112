import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import type { RootsReport, Tool } from 'mcp-actors';
import type { WorkspaceFacts } from '../src/project/workspace-facts.ts';
import { workspaceRootsUri, workspaceServer } from '../src/workspace-server.ts';
import type { WorkspaceOptions } from '../src/workspace-server.ts';
import { createWorkspace } from '../src/project/workspace.ts';
import { defineTool } from 'mcp-actors';
import { operate } from '../../../test/contract/serving.ts';
import {
  callTool,
  fakeContext,
  reportOf,
  toolError,
  undeclared,
} from '../../roots/test/fake-context.ts';
import { readAnswer } from './read-answer.ts';
import { rootAt } from '../../roots/test/root-at.ts';
import { temporaryDirectory } from '../../roots/test/temporary-directory.ts';

function serverOf(options: Partial<WorkspaceOptions> = {}) {
  return workspaceServer({ cwd: '/', home: '/nobody', version: '1.2.3', ...options });
}

function toolOf(server: ReturnType<typeof serverOf>, name: string): Tool {
  const tool = server.definition.tools?.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`There is no tool ${name}`);
  return tool;
}

async function infoOf(options: Partial<WorkspaceOptions>, report: RootsReport = undeclared) {
  const tool = toolOf(serverOf(options), 'workspace_info');
  return await callTool<WorkspaceFacts>(tool, {}, fakeContext(report));
}

test('unexpected errors of a tool are only logged', async () => {
  const { definition } = serverOf();
  const broken = defineTool({
    name: 'broken',
    description: 'Fails',
    handler: () => {
      throw new Error("EIO: i/o error, open '/outside/secret'");
    },
  });
  const tools = [...(definition.tools ?? []), broken];
  const { peer, facts } = await operate({ ...definition, tools });
  expect(JSON.stringify(await peer.call('broken'))).not.toContain('secret');
  expect((await facts.next('handler.failed')).message).toContain('secret');
});

describe('workspace_info', () => {
  test('reports the project and its reason, each root, the branch and the scripts', async () => {
    const directory = await temporaryDirectory({
      'a/.git/HEAD': 'ref: refs/heads/main\n',
      'a/package.json': '{"scripts":{"test":"vitest"}}',
    });
    const path = join(directory, 'a');
    const problem = { code: 'NOT_FOUND', message: '"/gone" does not exist' } as const;
    const report = reportOf([{ uri: 'file:///gone', problem }, rootAt(path, 'Mine')]);
    const { structured, text } = await infoOf({}, report);
    expect(structured).toEqual({
      project: { path, name: 'Mine', source: 'roots' },
      why: "the client's roots",
      roots: {
        status: 'known',
        listed: 2,
        usable: 1,
        unusable: [{ uri: 'file:///gone', ...problem }],
      },
      git: { branch: 'main' },
      scripts: [{ file: 'package.json', runner: 'npm run', names: ['test'] }],
    });
    expect(text.split('\n')).toEqual([
      `Project: ${path} (the client's roots)`,
      'Git: main',
      'Roots of the client: 1 of 2 usable',
      '  file:///gone — NOT_FOUND: "/gone" does not exist',
      'package.json (npm run): test',
    ]);
  });

  test('explains a missing project', async () => {
    const { structured } = await infoOf({ environment: { MCP_PROJECT_PATH: 'relative' } });
    expect(structured.project).toBeUndefined();
    expect(structured.why).toContain('no project');
    expect(structured.warnings?.[0]).toMatch(/MCP_PROJECT_PATH.*absolute/);
  });

  test('warns about a missing MCP_PROJECT_PATH and uses the working directory', async () => {
    const cwd = await temporaryDirectory();
    const { structured } = await infoOf({
      cwd,
      environment: { MCP_PROJECT_PATH: join(cwd, 'gone') },
    });
    expect(structured.project).toMatchObject({ path: cwd, source: 'cwd' });
    expect(structured.warnings).toEqual([expect.stringContaining('gone')]);
  });

  test('warns about a project that has disappeared', async () => {
    const path = join(await temporaryDirectory(), 'gone');
    const { structured } = await infoOf({}, reportOf([rootAt(path)]));
    expect(structured.warnings).toEqual([expect.stringContaining('does not exist')]);
  });

  test('does not treat missing roots as a problem, and mentions a fallback once', async () => {
    const cwd = await temporaryDirectory({ 'a.txt': 'one\n' });
    const server = serverOf({ cwd });
    const { text } = await callTool(toolOf(server, 'workspace_info'), {}, fakeContext());
    expect(text).toBe(
      `Project: ${cwd} (the server's working directory: the client does not support roots)`,
    );
    const read = await callTool(toolOf(server, 'read_file'), { path: 'a.txt' }, fakeContext());
    expect(read.text).toBe('a.txt: 1 line, 4 bytes\n\none\n');
  });

  test('lists problems of roots once, in text and structured content', async () => {
    const problem = { code: 'NOT_FOUND', message: '"/gone" does not exist' } as const;
    const { structured, text } = await infoOf({}, reportOf([{ uri: 'file:///gone', problem }]));
    for (const form of [JSON.stringify(structured), text]) {
      expect(form.split(form === text ? problem.message : '/gone\\" does')).toHaveLength(2);
    }
  });

  test('counts ten thousand roots and lists those that fit', async () => {
    const usable = Array.from({ length: 10_000 }, (_, index) => rootAt(`/gone/${index}`));
    const problem = { code: 'NOT_FOUND', message: 'x'.repeat(700) } as const;
    const unusable = usable.map(({ uri }) => ({ uri, problem }));
    const { structured, text } = await infoOf({}, reportOf([...usable, ...unusable]));
    expect(structured.roots).toMatchObject({ listed: 20_000, usable: 10_000 });
    expect(text).toContain('and 9990 more');
    for (const form of [JSON.stringify(structured), text]) {
      expect(form.length).toBeLessThan(40_000);
    }
  });

  test('matches the resource workspace://roots', async () => {
    const cwd = await temporaryDirectory({ Makefile: 'all:\n' });
    const { definition } = serverOf({ cwd });
    const [resource] = definition.resources ?? [];
    expect(resource).toMatchObject({ uri: workspaceRootsUri, mimeType: 'application/json' });
    const contents = await resource?.read(fakeContext());
    expect(JSON.parse(contents as string)).toEqual((await infoOf({ cwd })).structured);
  });
});

describe('workspace tools', () => {
  test('tools are read-only, with titles, descriptions and closed schemas', () => {
    for (const tool of serverOf().definition.tools ?? []) {
      expect(tool.title).toMatch(/\w/);
      expect(tool.description.length).toBeGreaterThan(40);
      expect(tool.annotations).toMatchObject({ readOnlyHint: true, openWorldHint: false });
      expect(tool.inputSchema).toMatchObject({ additionalProperties: false });
      if (tool.outputSchema) {
        expect(tool.outputSchema).toMatchObject({ additionalProperties: false });
      }
    }
  });

  test('tools return results that conform to their output schema', async () => {
    const cwd = await temporaryDirectory({ 'a.txt': 'needle\nmore\n', Makefile: 'all:\n' });
    const server = serverOf({ cwd });
    const calls: Record<string, object> = {
      workspace_info: {},
      list_directory: { limit: 1 },
      find_files: { limit: 1 },
      search_text: { pattern: 'needle', contextLines: 1 },
      read_file: { path: 'a.txt', maxCharacters: 3 },
    };
    const ajv = new Ajv2020({ strict: true });
    for (const tool of server.definition.tools ?? []) {
      expect(ajv.validate(tool.inputSchema, calls[tool.name]), tool.name).toBe(true);
      const { structured, text } = await callTool(tool, calls[tool.name] ?? {}, fakeContext());
      if (tool.outputSchema === undefined) expect(structured).toBeUndefined();
      else expect(ajv.validate(tool.outputSchema, structured), ajv.errorsText()).toBe(true);
      expect(text).toMatch(/\w/);
    }
  });

  test.each([
    ['list_directory', {}],
    ['find_files', {}],
    ['search_text', { pattern: 'needle' }],
    ['read_file', { path: 'a.txt' }],
  ])('mentions a fallback and its reason in the first result: %s', async (name, args) => {
    const cwd = await temporaryDirectory({ 'a.txt': 'needle' });
    const problem = 'the client did not answer within 5000 ms';
    const context = fakeContext(reportOf([], { status: 'failed', problem }));
    const server = serverOf({ cwd });
    const call = async (of = context) => (await callTool(toolOf(server, name), args, of)).text;
    await toolError(callTool(toolOf(server, 'read_file'), { path: 'absent' }, context));
    const first = await call();
    expect(first.split(problem)).toHaveLength(2);
    expect(first).toContain(`Working in ${cwd}, the server's working directory: `);
    expect(await call()).not.toContain(problem);
    // A different fallback is mentioned again.
    expect(await call(fakeContext(reportOf([])))).toContain('an empty list of roots');
  });

  test('fails without a project, with the reasons', async () => {
    const error = await toolError(callTool(toolOf(serverOf(), 'find_files'), {}, fakeContext()));
    expect(error.code).toBe('NO_PROJECT');
    expect(error.message).toContain('the root of the file system');
  });

  test('notices a root that has disappeared', async () => {
    const path = join(await temporaryDirectory({ 'a/': '' }), 'a');
    const server = serverOf();
    const context = fakeContext(reportOf([rootAt(path)]));
    await rm(path, { recursive: true });
    for (const [name, args] of [
      ['list_directory', {}],
      ['find_files', {}],
      ['search_text', { pattern: 'x' }],
      ['read_file', { path: 'a.txt' }],
    ] as const) {
      const error = await toolError(callTool(toolOf(server, name), args, context));
      expect(error.code).toBe('ROOT_UNAVAILABLE');
    }
  });
});

describe('root argument', () => {
  async function twoRoots() {
    const directory = await temporaryDirectory({ 'one/a.txt': '', 'two/b.txt': '' });
    const [one, two] = [join(directory, 'one'), join(directory, 'two')];
    const context = fakeContext(reportOf([rootAt(one, 'First'), rootAt(two, 'Second')]));
    const tool = toolOf(serverOf(), 'find_files');
    const find = (root?: string) => callTool(tool, root === undefined ? {} : { root }, context);
    return { one, two, find };
  }

  test('defaults to the first root and accepts a name, URI or path', async () => {
    const { two, find } = await twoRoots();
    expect(readAnswer((await find()).text).lines).toEqual(['a.txt']);
    for (const root of [
      'Second',
      pathToFileURL(two).href,
      `${pathToFileURL(two).href}/`,
      two,
      `${two}/`,
    ]) {
      expect(readAnswer((await find(root)).text).lines).toEqual(['b.txt']);
    }
  });

  test.each(['Third', '/etc', '', '\0', '../two', 'file://', 'https://example.com'])(
    'refuses %j with the names of the roots',
    async (root) => {
      const { one, find } = await twoRoots();
      const error = await toolError(find(root));
      expect(error.code).toBe('UNKNOWN_ROOT');
      expect(error.message).toContain('"First"');
      expect(error.message).toContain(one);
    },
  );

  test('refuses a name that two roots share', async () => {
    const directory = await temporaryDirectory({ 'one/': '', 'two/': '' });
    const roots = ['one', 'two'].map((name) => rootAt(join(directory, name), 'Same'));
    const call = callTool(
      toolOf(serverOf(), 'find_files'),
      { root: 'Same' },
      fakeContext(reportOf(roots)),
    );
    expect((await toolError(call)).code).toBe('AMBIGUOUS_ROOT');
  });
});

describe('roots update', () => {
  /** Starts a search that runs until its signal is aborted, and returns its outcome. */
  async function runningIn(path: string, report: RootsReport) {
    const workspace = createWorkspace({ cwd: '/', home: '/nobody' });
    const context = fakeContext(report);
    const entered = await workspace.enter(context, path);
    const ended = workspace.search(entered, context, untilAborted);
    return { workspace, entered, context, ended };
  }

  const untilAborted = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });

  test('ends a search in a removed root with ROOT_REMOVED', async () => {
    const path = await temporaryDirectory();
    const { workspace, ended } = await runningIn(path, reportOf([rootAt(path)]));
    workspace.rootsUpdated(reportOf([], { generation: 2 }));
    const error = await toolError(ended);
    expect(error.code).toBe('ROOT_REMOVED');
    expect(error.message).toContain(path);
  });

  test('keeps a search whose root is still inside', async () => {
    const outer = await temporaryDirectory({ 'inner/': '' });
    const inner = join(outer, 'inner');
    const report = reportOf([rootAt(outer), rootAt(inner)]);
    const { workspace, entered, context, ended } = await runningIn(inner, report);
    const other = workspace.search(
      { ...entered, root: { ...entered.root, path: '/elsewhere' } },
      context,
      untilAborted,
    );
    workspace.rootsUpdated(reportOf([rootAt(outer)], { generation: 2 }));
    // Both searches saw the same update, so once one has ended, the other was spared.
    expect((await toolError(other)).code).toBe('ROOT_REMOVED');
    workspace.rootsUpdated(reportOf([], { generation: 3 }));
    expect((await toolError(ended)).code).toBe('ROOT_REMOVED');
  });

  test('ends a search that had not started when its root was removed', async () => {
    const path = await temporaryDirectory();
    const workspace = createWorkspace({ cwd: '/', home: '/nobody' });
    const context = fakeContext(reportOf([rootAt(path)]));
    const entered = await workspace.enter(context, undefined);
    workspace.rootsUpdated(reportOf([], { generation: 2 }));
    const error = await toolError(workspace.search(entered, context, untilAborted));
    expect(error.code).toBe('ROOT_REMOVED');
  });

  test('calls chdir with the latest project, only if configured', async () => {
    const directory = await temporaryDirectory({ 'one/': '', 'two/': '' });
    const [one, two] = [join(directory, 'one'), join(directory, 'two')];
    let changed = (_: string) => {};
    const change = new Promise<string>((resolve) => void (changed = resolve));
    const server = serverOf({ chdir: (path) => changed(path) });
    server.rootsUpdated(reportOf([rootAt(one)]));
    server.rootsUpdated(reportOf([rootAt(two)], { generation: 2 }));
    expect(await change).toBe(two);
  });

  test('warns if the working directory cannot be changed', async () => {
    const cwd = await temporaryDirectory();
    let tried = () => {};
    const trying = new Promise<void>((resolve) => void (tried = resolve));
    const server = serverOf({
      cwd,
      chdir: () => {
        tried();
        throw new Error('no permission');
      },
    });
    server.rootsUpdated(undeclared);
    await trying;
    const { structured } = await callTool<WorkspaceFacts>(
      toolOf(server, 'workspace_info'),
      {},
      fakeContext(),
    );
    expect(structured.warnings).toEqual([expect.stringContaining('no permission')]);
  });
});

test('two workspace servers share no state', async () => {
  const one = await temporaryDirectory({ 'a.txt': '' });
  const two = join(await temporaryDirectory(), 'made');
  await mkdir(two);
  const [first, second] = [serverOf({ cwd: one }), serverOf({ cwd: two })];
  first.rootsUpdated(reportOf([]));
  const { text } = await callTool(toolOf(second, 'find_files'), {}, fakeContext());
  expect(readAnswer(text).lines).toEqual([]);
});
