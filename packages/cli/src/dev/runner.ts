/**
 * The process that has the code of one version: it loads the module once, and serves the sessions
 * that `mcp-actors dev` opens. It is started before there is something to load, so that Node, tsx
 * and the library are there when it counts.
 */
import { createRequire, register } from 'node:module';
import { dirname, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MessageChannel } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { serving, textOfError } from 'mcp-actors/internal';
import type { McpServer, SdkTransport, fromSdkTransport } from 'mcp-actors';
import { membersOf, serverIn } from '../module-server.ts';
import type { FromCode, ToCode } from './wire.ts';

/** Set for this process, to the module that it is to load. */
export const codeVariable = 'MCP_ACTORS_DEV_FILE';

/** What servers are written with, and what has no effect when it is loaded. */
const warmed = ['mcp-actors', 'mcp-actors/serve', 'xstate', 'zod'];

/** Tells which modules are loaded. Node runs it in a thread of its own. */
const hooks = `
let port;
export function initialize(data) { port = data.port; }
export function load(url, context, next) {
  if (url.startsWith('file:')) port.postMessage(url);
  return next(url, context);
}`;

const sendToParent = process.send?.bind(process);

/** Takes the channel from the module: `process.send('ready')` is for a process manager, and there is none. */
function takeChannel(): void {
  for (const name of ['send', 'disconnect']) {
    Object.defineProperty(process, name, { value: undefined, configurable: true });
  }
}

/** Serves until the process that has started it is gone. */
export async function runCode(file: string): Promise<never> {
  process.on('disconnect', () => process.exit(0));
  takeChannel();
  // What the code sees of its own command line.
  process.argv.splice(1, process.argv.length, file);
  const loaded = new LoadedFiles(file);
  const { library } = await warm(file);
  const runner = new Runner(file, loaded, library);
  process.on('message', (message) => runner.heard(message as ToCode));
  tell({ type: 'code.warmed' });
  return await new Promise(() => {});
}

function tell(message: FromCode): void {
  sendToParent?.(message);
}

interface Library {
  readonly fromSdkTransport: typeof fromSdkTransport;
}

/** Loads what the module will import, as the module will find it. */
async function warm(file: string): Promise<{ readonly library: Library | undefined }> {
  const { resolve: find } = createRequire(file);
  let library: Library | undefined;
  for (const name of warmed) {
    try {
      const found = (await import(pathToFileURL(find(name)).href)) as object;
      if (name === 'mcp-actors') library = found as Library;
    } catch {
      // It is not there, or it cannot be loaded: the module says so if it wants it.
    }
  }
  return { library };
}

/** The files that have been loaded, without those of packages and of this command. */
class LoadedFiles {
  readonly #file: string;
  readonly #port: MessagePort;
  readonly #urls = new Set<string>();

  constructor(file: string) {
    this.#file = file;
    const { port1, port2 } = new MessageChannel();
    register(`data:text/javascript,${encodeURIComponent(hooks)}`, {
      data: { port: port2 },
      transferList: [port2],
    });
    port1.on('message', (url: string) => this.#urls.add(url));
    port1.unref();
    this.#port = port1;
  }

  async all(): Promise<readonly string[]> {
    // What the thread of the hooks has posted comes before this.
    await new Promise((resume) => {
      setImmediate(resume);
    });
    this.#port.unref();
    const imported = [...this.#urls].map((url) => fileURLToPath(new URL(url)));
    const required = Object.keys(createRequire(this.#file).cache);
    const own = dirname(fileURLToPath(import.meta.url)) + sep;
    const isTheirs = (path: string) =>
      !path.includes(`${sep}node_modules${sep}`) && !path.startsWith(own);
    return [...new Set([this.#file, ...imported, ...required])].filter(isTheirs);
  }
}

class Runner {
  readonly #file: string;
  readonly #loaded: LoadedFiles;
  readonly #library: Library | undefined;
  readonly #sessions = new Map<number, CodeTransport>();
  #server: McpServer | undefined = undefined;

  constructor(file: string, loaded: LoadedFiles, library: Library | undefined) {
    this.#file = file;
    this.#loaded = loaded;
    this.#library = library;
  }

  heard(message: ToCode): void {
    switch (message.type) {
      case 'code.load':
        return void this.#load();
      case 'code.probe':
        return tell({ type: 'code.answered' });
      case 'session.open':
        return this.#open(message.session);
      case 'session.message':
        return this.#sessions.get(message.session)?.receive(message.message);
      case 'session.close':
        this.#sessions.get(message.session)?.onclose?.();
        this.#sessions.delete(message.session);
    }
  }

  async #load(): Promise<void> {
    const { href } = pathToFileURL(this.#file);
    try {
      const given: unknown = await serving.runOrServe(() => import(href) as Promise<object>);
      this.#server = serverIn(given);
      const { definition } = this.#server;
      const machines = (definition.tools ?? []).filter((tool) => 'machine' in tool);
      const names = machines.map(({ name }) => name);
      tell({ type: 'code.loaded', files: await this.#loaded.all(), machines: names });
    } catch (error) {
      const message = faultText(error, this.#file);
      tell({ type: 'code.failed', message, files: await this.#loaded.all() });
    }
  }

  #open(session: number): void {
    const transport = new CodeTransport(session);
    this.#sessions.set(session, transport);
    if (!this.#server || !this.#library) return void transport.close();
    this.#server.listen(this.#library.fromSdkTransport(transport));
  }
}

/** One session's end in this process. */
class CodeTransport implements SdkTransport {
  readonly #session: number;
  onmessage?: SdkTransport['onmessage'];
  onclose?: SdkTransport['onclose'];
  #early: object[] = [];

  constructor(session: number) {
    this.#session = session;
  }

  async start(): Promise<void> {
    for (const message of this.#early.splice(0)) this.onmessage?.(message);
  }

  async send(message: object): Promise<void> {
    tell({ type: 'session.message', session: this.#session, message });
  }

  async close(): Promise<void> {
    tell({ type: 'session.closed', session: this.#session });
  }

  receive(message: object): void {
    if (this.onmessage) this.onmessage(message);
    else this.#early.push(message);
  }
}

/** How many lines of a stack are shown. */
const maxFrames = 5;

/** The error as its author can use it: what, and where in their own files. */
function faultText(error: unknown, file: string): string {
  const text = textOfError(error);
  const { code, stack } = membersOf(error);
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
    return `${text}\nThis Node runs no TypeScript: npm install --save-dev tsx`;
  }
  if (typeof stack !== 'string' || text.includes(resolve(file))) return text;
  const frames = stack.split('\n').filter((line) => /^ +at /.test(line));
  const theirs = frames.filter(
    (line) => !/node:|node_modules|data:text|runOrServe|Runner\./.test(line),
  );
  return [text, ...theirs.slice(0, maxFrames)].join('\n');
}
