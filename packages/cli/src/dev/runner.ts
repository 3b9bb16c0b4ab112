/**
 * Process of one version: loads the module once and serves the sessions that `mcp-actors dev`
 * opens. It starts before there is code to load, so that Node, tsx and the library are already
 * loaded.
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

/** Environment variable with the module to load. */
export const codeVariable = 'MCP_ACTORS_DEV_FILE';

/** Packages to preload: used by most servers, and free of side effects. */
const warmed = ['mcp-actors', 'mcp-actors/serve', 'xstate', 'zod'];

/** Loader hooks that report loaded modules. Node runs them in a separate thread. */
const hooks = `
let port;
export function initialize(data) { port = data.port; }
export function load(url, context, next) {
  if (url.startsWith('file:')) port.postMessage(url);
  return next(url, context);
}`;

const sendToParent = process.send?.bind(process);

/** Hides the IPC channel from the module, which might send messages for a process manager. */
function takeChannel(): void {
  for (const name of ['send', 'disconnect']) {
    Object.defineProperty(process, name, { value: undefined, configurable: true });
  }
}

/** Serves until the parent process ends. */
export async function runCode(file: string): Promise<never> {
  process.on('disconnect', () => process.exit(0));
  takeChannel();
  // The code must see its own command line.
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

/** Preloads packages as the module would resolve them. */
async function warm(file: string): Promise<{ readonly library: Library | undefined }> {
  const { resolve: find } = createRequire(file);
  let library: Library | undefined;
  for (const name of warmed) {
    try {
      const found = (await import(pathToFileURL(find(name)).href)) as object;
      if (name === 'mcp-actors') library = found as Library;
    } catch {
      // If it is missing or broken, importing it in the module reports that.
    }
  }
  return { library };
}

/** Loaded files, excluding packages and this command. */
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
    // Messages posted by the hooks thread arrive first.
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

/** This process's end of a session. */
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

/** Maximum number of stack frames shown. */
const maxFrames = 5;

/** Formats an error for its author: the message and frames in their own files. */
function faultText(error: unknown, file: string): string {
  const text = textOfError(error);
  const { code, stack } = membersOf(error);
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
    return `${text}\nThis Node cannot run TypeScript: npm install --save-dev tsx`;
  }
  if (typeof stack !== 'string' || text.includes(resolve(file))) return text;
  const frames = stack.split('\n').filter((line) => /^ +at /.test(line));
  const theirs = frames.filter(
    (line) => !/node:|node_modules|data:text|runOrServe|Runner\./.test(line),
  );
  return [text, ...theirs.slice(0, maxFrames)].join('\n');
}
