/** Commands of the shell. */
import type { Connection, FoundTool, MergedTool, Servers, ServerStatus } from 'mcp-actors/client';
import { closestMatch, printableJson } from 'mcp-actors/internal';
import type { ResourceContents } from 'mcp-actors';
import { UsageError } from '../command.ts';
import { columns, unknownServer } from './client-options.ts';
import { describeFailure } from './exit-codes.ts';
import { describeMissingTools, findTool, listingMs } from './find-tool.ts';
import { partOfResource, formatResult } from './result-text.ts';
import { drawProgress } from './progress-line.ts';
import type { ServerLogs } from './server-logs.ts';
import { readToolArguments } from './tool-arguments.ts';
import { Watches } from './watches.ts';

/** Environment of the commands. */
export interface ShellStage {
  readonly servers: Servers;
  readonly logs: ServerLogs;
  /** Prints a result that ends with a line feed. */
  print(text: string): void;
  /** Prints a message that is not part of a result. */
  say(line: string): void;
}

interface ShellCommand {
  readonly usage: string;
  readonly summary: string;
  /** Kind of the first argument, for completion. */
  readonly takes: 'tool' | 'server' | 'nothing' | 'anything';
  run(args: readonly string[], signal: AbortSignal): Promise<void>;
}

export class ShellCommands {
  readonly #stage: ShellStage;
  readonly #watches: Watches;

  constructor(stage: ShellStage) {
    this.#stage = stage;
    this.#watches = new Watches(stage.print);
  }

  readonly #commands: { readonly [name: string]: ShellCommand } = {
    list: {
      usage: '[SERVER]',
      summary: 'Lists the tools of all servers or one.',
      takes: 'server',
      run: async ([server], signal) => {
        const tools = await this.#stage.servers.listTools({ signal, timeoutMs: listingMs });
        const of = server === undefined ? undefined : this.#serverNamed(server);
        const rows = tools.filter((tool) => of === undefined || tool.server === of).map(rowOf);
        this.#stage.print(rows.length === 0 ? 'No tools\n' : columns(rows));
        describeMissingTools(this.#stage.servers).forEach(this.#stage.say);
      },
    },
    describe: {
      usage: 'TOOL',
      summary: 'Describes a tool and its arguments.',
      takes: 'tool',
      run: async ([name], signal) => {
        const { listed, ...unlisted } = await this.#find(given(name, 'a tool'), signal);
        this.#stage.print(`${printableJson(listed ?? unlisted, 2)}\n`);
      },
    },
    call: {
      usage: 'TOOL [JSON | key=value ...]',
      summary: 'Calls a tool.',
      takes: 'tool',
      run: async (args, signal) => this.#stage.print(await this.#call(args, signal)),
    },
    read: {
      usage: '[SERVER] URI',
      summary: 'Reads a resource.',
      takes: 'server',
      run: async (args, signal) => {
        const { connection, uri } = await this.#resource(args);
        this.#stage.print(await readText(connection, uri, signal));
      },
    },
    resources: {
      usage: '[SERVER]',
      summary: 'Lists the resources of all servers or one.',
      takes: 'server',
      run: async ([server], signal) => {
        for (const [name, connection] of await this.#connections(server)) {
          const resources = await connection.listResources({ signal });
          const rows = resources.map(({ uri, title, name: its }) => [uri, title ?? its] as const);
          this.#stage.print(`${name}: ${rows.length} resources\n${columns(rows)}`);
        }
      },
    },
    watch: {
      usage: 'TOOL [ARGUMENTS] | [SERVER] URI',
      summary:
        'Calls a tool every two seconds, or reads a resource whenever it changes, and prints changes.',
      takes: 'tool',
      run: async (args, signal) => {
        const isResource = args.at(-1)?.includes('://') && args.length < 3;
        if (!isResource) {
          await this.#watches.repeat(args.join(' '), () => this.#call(args, signal));
          return;
        }
        const { connection, uri } = await this.#resource(args);
        await connection.subscribe(uri, { signal });
        await this.#watches.updates(connection, uri, () => readText(connection, uri));
      },
    },
    unwatch: {
      usage: '',
      summary: 'Stops all watches.',
      takes: 'nothing',
      run: () => {
        this.#stage.print(`Stopped watches: ${this.#watches.end()}\n`);
        return Promise.resolve();
      },
    },
    logs: {
      usage: '[SERVER]',
      summary: 'Shows the last log messages and stderr output of a server.',
      takes: 'server',
      run: async ([server]) => {
        const name = this.#serverNamed(server);
        await this.#stage.servers.started();
        this.#stage.print(this.#stage.logs.textOf(name, this.#stage.servers.get(name)));
      },
    },
    state: {
      usage: '',
      summary: 'Shows the state of each server.',
      takes: 'nothing',
      run: async () => {
        await this.#stage.servers.started();
        this.#stage.print(
          columns([...this.#stage.servers.status].map((each) => this.#stateRow(...each))),
        );
      },
    },
    reconnect: {
      usage: '[SERVER]',
      summary: 'Reconnects to a server.',
      takes: 'server',
      run: async ([server]) => {
        const name = this.#serverNamed(server);
        const { info, revision } = await (await this.#stage.servers.use(name)).reconnect();
        this.#stage.print(`${name} is ready: ${info.name} ${info.version}, ${revision}\n`);
      },
    },
    help: {
      usage: '',
      summary: 'Shows this help. quit or Ctrl-D ends the shell.',
      takes: 'nothing',
      run: () => {
        const rows = Object.entries(this.#commands).map(
          ([name, { usage, summary }]) => [`${name} ${usage}`, summary] as const,
        );
        this.#stage.print(columns(rows));
        return Promise.resolve();
      },
    },
  };

  /**
   * Runs a command line.
   *
   * @throws {UsageError} if the command is unknown or an argument is missing
   */
  async run(line: string, signal: AbortSignal): Promise<void> {
    const [name, ...args] = wordsOf(line);
    if (name === undefined) return;
    const command = Object.hasOwn(this.#commands, name) ? this.#commands[name] : undefined;
    if (command) return command.run(args, signal);
    const near = closestMatch(name, Object.keys(this.#commands));
    throw new UsageError(
      `Unknown command ${JSON.stringify(name)}. ${near === undefined ? 'See help' : `Did you mean ${near}?`}`,
    );
  }

  /** Completions of the last word, in the form that readline expects. */
  complete(line: string): [string[], string] {
    const words = line.trimStart().split(/\s+/);
    const last = words.at(-1) ?? '';
    const { servers } = this.#stage;
    const names =
      words.length === 1
        ? [...Object.keys(this.#commands), 'quit']
        : words.length > 2
          ? []
          : {
              tool: servers.tools.map(({ name }) => name),
              server: [...servers.status.keys()],
              nothing: [],
              anything: [],
            }[this.#commands[words[0] ?? '']?.takes ?? 'nothing'];
    return [names.filter((name) => name.startsWith(last)), last];
  }

  /** Stops all watches. */
  close(): void {
    this.#watches.end();
  }

  #find(name: string, signal: AbortSignal): Promise<FoundTool> {
    return findTool(this.#stage.servers, name, signal, this.#stage.say);
  }

  async #call([name, ...written]: readonly string[], signal: AbortSignal): Promise<string> {
    const wanted = given(name, 'a tool');
    const { server, tool, listed } = await this.#find(wanted, signal);
    const { inputSchema = {} } = listed ?? {};
    const args = readToolArguments(written, { name: wanted, inputSchema });
    const progress = drawProgress(process.stderr);
    const connection = await this.#stage.servers.use(server);
    const result = await connection
      .callTool(tool, args, { signal, onProgress: progress.update, onTask: progress.task })
      .finally(progress.end);
    const { text, leftOut } = formatResult(result, 'text');
    const more = leftOut.map((what) => `(${what})\n`).join('');
    return `${result.isError === true ? 'The tool failed: ' : ''}${text}${more}`;
  }

  async #resource(args: readonly string[]): Promise<{ connection: Connection; uri: string }> {
    const names = [...this.#stage.servers.status.keys()];
    const [server, uri] = args.length > 1 ? args : [names[0], args[0]];
    if (args.length < 2 && names.length > 1) {
      throw new UsageError(`Name the server before the URI: ${names.join(', ')}`);
    }
    const name = this.#serverNamed(server);
    return { connection: await this.#stage.servers.use(name), uri: given(uri, 'a URI') };
  }

  async #connections(server?: string): Promise<readonly (readonly [string, Connection])[]> {
    const { servers } = this.#stage;
    if (server !== undefined) {
      const name = this.#serverNamed(server);
      return [[name, await servers.use(name)]];
    }
    await servers.started();
    return [...servers.status.keys()].flatMap((name) => {
      const connection = servers.get(name);
      return connection?.server?.capabilities['resources'] === undefined
        ? []
        : [[name, connection]];
    });
  }

  /** Resolves a server name, which may be omitted if there is only one server. */
  #serverNamed(given = ''): string {
    const names = [...this.#stage.servers.status.keys()];
    const name = given === '' && names.length === 1 ? (names[0] as string) : given;
    if (names.includes(name)) return name;
    if (name === '') throw new UsageError(`Name a server: ${names.join(', ')}`);
    throw unknownServer(name, names);
  }

  #stateRow(
    name: string,
    { state, error, launches, tools }: ServerStatus,
  ): readonly [string, string] {
    const connection = this.#stage.servers.get(name);
    const server = connection?.server;
    const parts = [
      state,
      ...(server ? [`${server.info.name} ${server.info.version}, ${server.revision}`] : []),
      ...(connection && connection.pending > 0 ? [`${connection.pending} pending`] : []),
      ...(launches > 1 ? [`launched ${launches} times`] : []),
      ...(error ? [describeFailure(error)] : []),
      ...(!error && tools.state === 'failed'
        ? [`its tools could not be listed: ${tools.reason}`]
        : []),
    ];
    return [name, parts.join('; ')];
  }
}

function given(value: string | undefined, what: string): string {
  if (value !== undefined && value !== '') return value;
  throw new UsageError(`Name ${what}`);
}

const rowOf = ({ name, description, title, cachedAt }: MergedTool) =>
  [name, `${cachedAt === undefined ? '' : '(starting) '}${description ?? title ?? ''}`] as const;

async function readText(
  connection: Connection,
  uri: string,
  signal?: AbortSignal,
): Promise<string> {
  const { contents } = await connection.readResource(uri, { signal });
  return (contents as readonly ResourceContents[])
    .map(partOfResource)
    .map(({ text, leftOut }) => text ?? `(${leftOut})`)
    .map((text) => (text.endsWith('\n') ? text : `${text}\n`))
    .join('');
}

/**
 * Splits a line into words. Single or double quotes keep words together, also within a word:
 * `key="two words"`. A word that begins with `{` or `[` extends to the end of the line, because
 * JSON has its own quotes.
 *
 * @throws {UsageError} if a quote is not closed
 */
export function wordsOf(line: string): readonly string[] {
  const words: string[] = [];
  let rest = line.trim();
  while (rest !== '') {
    if (/^[{[]/.test(rest)) return [...words, rest];
    const [word = ''] = /^(?:[^\s"']|"(?:[^"\\]|\\.)*"|'[^']*')+/.exec(rest) ?? [];
    if (word === '' || !/^(?:\s|$)/.test(rest.slice(word.length))) {
      throw new UsageError(`Unclosed quote: ${rest}`);
    }
    words.push(unquoted(word));
    rest = rest.slice(word.length).trimStart();
  }
  return words;
}

const unquoted = (word: string): string =>
  word.replaceAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'/g, (_, double?: string, single?: string) =>
    double === undefined ? (single ?? '') : double.replaceAll(/\\(["\\])/g, '$1'),
  );
