/** A project whose server is in development: a folder with the packages of this repository, and the official client as its host. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import type { CallToolResult, ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished } from 'vitest';
import { textOf } from '../../../../test/e2e/both-eras-client.ts';
import { command, gone, repository } from '../../../../test/e2e/server-process.ts';

/** The text of a module whose server has these tools, in JavaScript and in TypeScript. */
export function moduleWith(tools: string, more = ''): string {
  return `import { createMcpServer, defineResource, defineTool } from 'mcp-actors';
import { createMachine } from 'xstate';
import { serve } from 'mcp-actors/serve';
${more}
const tool = (name, handler, description = name) =>
  defineTool({ name, description, handler });
const server = createMcpServer({ name: 'tried', version: '1.0.0', tools: [${tools}],
  resources: [defineResource({ uri: 'note://one', name: 'one', read: () => 'text' })] });
await serve(server);
`;
}

/** A tool that answers with this text. */
export const says = (text: string): string => `tool('say', () => ${JSON.stringify(text)})`;

export class DevProject {
  readonly folder = mkdtempSync(join(tmpdir(), 'dev-project-'));
  /** The file of its server. */
  readonly main: string;

  /**
   * @param language that of its server. JavaScript is cheaper: the project's own tsx is taken, which does nothing then.
   */
  constructor(language: 'js' | 'ts' = 'js') {
    this.main = `server.${language}`;
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true }));
    const modules = join(this.folder, 'node_modules');
    mkdirSync(modules);
    symlinkSync(repository, join(modules, 'mcp-actors'), 'junction');
    for (const name of language === 'ts' ? ['tsx', 'xstate'] : ['xstate']) {
      symlinkSync(join(repository, 'node_modules', name), join(modules, name), 'junction');
    }
    if (language === 'js') {
      mkdirSync(join(modules, 'tsx'));
      writeFileSync(join(modules, 'tsx/index.js'), '');
    }
    writeFileSync(join(this.folder, 'package.json'), '{ "type": "module" }');
  }

  /** Saves a file as many editors do: it is written beside, and renamed. */
  save(text: string, name = this.main): void {
    const path = join(this.folder, name);
    writeFileSync(`${path}~`, text);
    renameSync(`${path}~`, path);
  }

  /** A host that launches the command for its server; the end of the test ends both. */
  async host(options: ClientOptions = {}, args = ['dev']): Promise<DevHost> {
    const host = new DevHost(this, options, [...args, this.main]);
    await host.connect();
    return host;
  }
}

export class DevHost {
  readonly client: Client;
  stderr = '';
  readonly #transport: StdioClientTransport;
  readonly #complaints: unknown[] = [];

  constructor({ folder }: DevProject, options: ClientOptions, args: readonly string[]) {
    this.#transport = new StdioClientTransport({
      command: process.execPath,
      args: [...command, ...args],
      cwd: folder,
      stderr: 'pipe',
    });
    this.#transport.stderr?.on('data', (chunk) => {
      this.stderr += String(chunk);
    });
    this.client = new Client({ name: 'host', version: '1' }, options);
    // Whatever is on stdout and is no message, too.
    this.client.onerror = (error) => this.#complaints.push(error);
  }

  /** The process that the host has launched. */
  get pid(): number {
    return this.#transport.pid as number;
  }

  async connect(): Promise<void> {
    await this.client.connect(this.#transport);
    const { pid } = this;
    onTestFinished(async () => {
      await this.client.close();
      await gone(pid);
      expect(this.#complaints).toEqual([]);
    });
  }

  /** The text of a call's result. */
  async call(name: string, args: Record<string, unknown> = {}): Promise<string> {
    return textOf((await this.client.callTool({ name, arguments: args })) as CallToolResult);
  }
}
