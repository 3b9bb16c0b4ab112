/**
 * One version of the code in its own process, so that it cannot block the host or leave anything
 * behind.
 */
import type { ChildProcess } from 'node:child_process';
import type { Report, SdkTransport } from 'mcp-actors';
import { processActor, systemClock, textOfError } from 'mcp-actors/internal';
import { passOn } from '../stderr-lines.ts';
import { codeVariable } from './runner.ts';
import type { CodeFault, FromCode, LoadedCode, ToCode } from './wire.ts';

/** Settings of code processes. */
export interface CodeSetup {
  /** Absolute path of the module. */
  readonly file: string;
  /** TypeScript loader; undefined if Node itself runs the module. */
  readonly loader: string | undefined;
  /** Keys that seal suspended calls, so that the next version can resume them. */
  readonly stateKeys: string;
  /** Receives facts about processes and connections. */
  readonly report: Report;
}

/** Timeout for loading a module, milliseconds. */
const loadTimeoutMs = 30_000;

/** Timeout for answering a probe, milliseconds. */
const probeTimeoutMs = 5000;

/** Error of a version that cannot serve. */
export class CodeError extends Error {
  override readonly name = 'CodeError';
  /** Files loaded before the failure. */
  readonly files: readonly string[];

  constructor({ message, files }: CodeFault) {
    super(message);
    this.files = files;
  }
}

/** Timeouts of ending the process: after closing stdin, SIGTERM and SIGKILL. */
const stopTimes = { inputMs: 0, terminateMs: 1000, killMs: 1000 };

/** Process of one version. */
export class Code {
  /** Loaded files and machines; set by {@link load}. */
  loaded: LoadedCode = { files: [], machines: [] };
  /** True once the process has ended. */
  hasEnded = false;
  /** Resolves with a description when the process has ended. */
  readonly gone: Promise<string>;
  readonly #process: ReturnType<typeof processActor>;
  readonly #sessions = new Map<number, CodeSession>();
  readonly #warmed: Promise<void>;
  /** IPC channel; undefined until the process runs. */
  #channel: ChildProcess | undefined = undefined;
  #waiting: ((said: FromCode) => void) | undefined = undefined;
  #opened = 0;

  constructor({ file, loader, stateKeys, report }: CodeSetup) {
    const [, script = ''] = process.argv;
    const imports = loader === undefined ? [] : ['--import', loader];
    const env = { MCP_STATE_KEYS: stateKeys, ...process.env, [codeVariable]: file };
    const decoder = new TextDecoder();
    let warmed = () => {};
    this.#warmed = new Promise((resolve) => {
      warmed = resolve;
    });
    this.#process = processActor(
      {
        command: {
          command: process.execPath,
          args: [...process.execArgv, ...imports, script, 'dev'],
          env: env as Record<string, string>,
        },
        isWatched: true,
        hasChannel: true,
        stderr: {
          push: (chunk) => passOn(decoder.decode(chunk, { stream: true })),
          end: () => {},
        },
        clock: systemClock,
        report,
        launched: ({ stdout, channel }) => {
          // stdout is reserved for the host.
          stdout.setEncoding('utf8').on('data', passOn);
          this.#channel = channel;
          channel.on('message', (message) => {
            const said = message as FromCode;
            if (said.type === 'code.warmed') warmed();
            else this.#heard(said);
          });
        },
      },
      stopTimes,
    );
    this.gone = new Promise((resolve) => {
      this.#process.on('process.failed', ({ error }) =>
        resolve(`could not be started: ${textOfError(error)}`),
      );
      this.#process.on('process.exited', ({ code, signal }) =>
        resolve(signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`),
      );
    });
    void this.gone.then(() => {
      this.hasEnded = true;
      this.#closeSessions();
    });
    this.#process.start();
  }

  /**
   * Loads the module once. Before this call the process only waits.
   *
   * @throws {CodeError} if the module cannot be loaded or has no server; the process is then ended
   */
  async load(signal: AbortSignal): Promise<this> {
    let timer: NodeJS.Timeout | undefined;
    const failed = (message: string): FromCode => ({ type: 'code.failed', message, files: [] });
    const answered = new Promise<FromCode>((resolve) => {
      this.#waiting = resolve;
      signal.addEventListener('abort', () => resolve(failed('Superseded by newer code')), {
        once: true,
      });
      void this.gone.then((how) => resolve(failed(`Its process ${how} while loading`)));
    });
    void this.#warmed.then(() => {
      if (signal.aborted) return;
      const late = `Loading took longer than ${loadTimeoutMs / 1000} s: does the module wait for something or loop forever?`;
      timer = setTimeout(() => this.#waiting?.(failed(late)), loadTimeoutMs).unref();
      this.#tell({ type: 'code.load' });
    });
    const said = await answered;
    clearTimeout(timer);
    if (said.type === 'code.loaded') {
      const { files, machines } = said;
      this.loaded = { files, machines };
      return this;
    }
    this.end();
    throw new CodeError(said.type === 'code.failed' ? said : { message: said.type, files: [] });
  }

  /** Opens a session with the server in the process. */
  transport(): SdkTransport {
    const session = ++this.#opened;
    const transport = new CodeSession({
      opened: () => {
        this.#sessions.set(session, transport);
        this.#tell({ type: 'session.open', session });
      },
      said: (message) => this.#tell({ type: 'session.message', session, message }),
      closed: () => {
        if (this.#sessions.delete(session)) this.#tell({ type: 'session.close', session });
      },
    });
    return transport;
  }

  /** Kills the process if it does not answer, because an endless loop would occupy a CPU. */
  async probe(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), probeTimeoutMs).unref();
    });
    const answer = new Promise<FromCode>((resolve) => {
      this.#waiting = resolve;
    });
    this.#tell({ type: 'code.probe' });
    if ((await Promise.race([answer, late, this.gone])) === 'late')
      this.#process.send({ type: 'process.kill' });
    clearTimeout(timer);
  }

  /** Ends the process and its descendants. */
  end(): void {
    this.#closeSessions();
    this.#process.send({ type: 'process.stop' });
  }

  #tell(message: ToCode): void {
    // If the process has ended, `gone` resolves.
    if (this.#channel?.connected) this.#channel.send(message, () => {});
  }

  #heard(said: FromCode): void {
    switch (said.type) {
      case 'session.message':
        return this.#sessions.get(said.session)?.onmessage?.(said.message);
      case 'session.closed': {
        const session = this.#sessions.get(said.session);
        this.#sessions.delete(said.session);
        return session?.onclose?.();
      }
      default:
        this.#waiting?.(said);
    }
  }

  #closeSessions(): void {
    const open = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const session of open) session.onclose?.();
  }
}

interface SessionPort {
  opened(): void;
  said(message: object): void;
  closed(): void;
}

/** Local end of a session in the process. */
class CodeSession implements SdkTransport {
  readonly #port: SessionPort;
  onmessage?: SdkTransport['onmessage'];
  onclose?: SdkTransport['onclose'];

  constructor(port: SessionPort) {
    this.#port = port;
  }

  async start(): Promise<void> {
    this.#port.opened();
  }

  async send(message: object): Promise<void> {
    this.#port.said(message);
  }

  async close(): Promise<void> {
    this.#port.closed();
  }
}
