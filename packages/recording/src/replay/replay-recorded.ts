/** Replays a session with all outside events taken from the recording, including the handlers' actions. */
import type { Root } from '../../../../src/protocol/roots.ts';
import type { OutboundFrame } from '../../../../src/protocol/frames.ts';
import type { TaskSupport } from '../../../../src/protocol/tasks.ts';
import { createMcpServer } from '../../../../src/server/create-server.ts';
import type {
  ChangeNotice,
  Notify,
  SessionEnvironment,
} from '../../../../src/server/session/session-environment.ts';
import type { McpSession } from '../../../../src/server/session.ts';
import { defineTool } from '../../../../src/server/define/tool.ts';
import type { Tool } from '../../../../src/server/define/tool.ts';
import type { InputLine, PingLine, RecordingHeader, ResolvedLine } from '../format.ts';
import { RecordingError } from '../recording.ts';
import type { Recording } from '../recording.ts';
import type { Difference } from './difference.ts';
import type { Playback } from './playback.ts';
import { Player } from './player.ts';
import { optionsOf, replayEnvironment } from './replay-world.ts';
import { paramsOf } from './replayed-handlers.ts';

/** Replays with recorded handlers. @returns the first difference, if any */
export function replayRecorded(
  recording: Recording,
  header: RecordingHeader,
  playback: Playback,
): Promise<Difference | undefined> {
  return new SessionPlayer(recording, header, playback).play();
}

interface Resolution {
  resolve(roots: readonly Root[]): void;
  reject(error: Error): void;
}

class SessionPlayer extends Player {
  readonly #name: string;
  readonly #header: RecordingHeader;
  readonly #session: McpSession;
  readonly #resolutions = new Map<number, Resolution>();
  readonly #pings = new Map<number, AbortController>();
  #notify: Notify = () => {};
  #notice: ChangeNotice = () => {};

  constructor(recording: Recording, header: RecordingHeader, playback: Playback) {
    super(recording, playback, { name: 'session', at: header.at, said: (server) => ({ server }) });
    this.#name = recording.name;
    this.#header = header;
    this.#session = this.#listen();
  }

  #listen(): McpSession {
    const { capabilities, serverInfo } = this.#header.server;
    const { name, version } = serverInfo;
    const tools = Object.entries(this.#header.taskTools).map(([tool, taskSupport]) =>
      this.#tool(tool, taskSupport),
    );
    const server = createMcpServer({ name, version, ...(capabilities['tools'] ? { tools } : {}) });
    return server.listen(this.ends.transport, {
      ...optionsOf(this.#header),
      clock: this.clock,
      environment: this.#environment(),
      // The handler has already reported the error.
      report: () => {},
      ...this.playback.session,
    });
  }

  #tool(name: string, taskSupport: TaskSupport): Tool {
    try {
      return defineTool({ name, description: '', taskSupport, handler: () => '' });
    } catch (error) {
      const fault = `${this.#name}:1: the header of the recording: "taskTools": ${(error as Error).message}`;
      throw new RecordingError(fault, { cause: error });
    }
  }

  #environment(): SessionEnvironment {
    const [header, cursor] = [this.#header, this.cursor];
    let resolutions = 0;
    const environment = replayEnvironment({
      header,
      clock: this.clock,
      transport: this.ends.transport,
      random: (of) => cursor.random(of),
      output: (line) => cursor.output(line),
      server: () => header.server,
      afterwards: () => this.giveNested(),
    });
    return {
      ...environment,
      begin: (session) => {
        this.#notify = session.notify;
        this.#notice = session.notice;
        return environment.begin(session);
      },
      handlers: () =>
        new Map(header.methods.map((method) => [method, this.handlers.handlerOf(method)])),
      resolveRoots: () => {
        if (!header.resolvesRoots) return undefined;
        return () =>
          new Promise((resolve, reject) => {
            const number = ++resolutions;
            this.#resolutions.set(number, { resolve, reject });
            cursor.output({ resolve: number });
            this.giveNested();
          });
      },
      sealer: () => ({
        seal: () => this.computed(),
        open: () => this.computed(),
        digest: () => this.computed(),
        turn: () => this.computed(),
      }),
      // Notifications outside of calls have their own lines.
      notify: () => {},
      notice: () => {},
    };
  }

  protected give(line: InputLine): string | undefined {
    if ('gone' in line) this.ends.gone(line);
    else if ('shutdown' in line) {
      this.#session.shutdown(line.shutdown, line.drainTimeoutMs ?? undefined);
    } else if ('write' in line) this.#write(line.write);
    else if ('ping' in line) this.#ping(line);
    else if ('notice' in line) this.#notice(line.notice, line.uri, line.except);
    else if ('resolved' in line) return this.#resolved(line);
    else if ('notify' in line) this.#notify(line.notify, paramsOf(line));
    return undefined;
  }

  #write(frames: readonly unknown[]): void {
    const { writer } = this.#session.actor.getSnapshot().context;
    writer.send({ type: 'frames.send', frames: frames as OutboundFrame[] });
  }

  #ping({ ping, timeoutMs, withdrawn }: PingLine): void {
    if (withdrawn !== undefined) return this.#pings.get(ping)?.abort(withdrawn);
    const controller = new AbortController();
    this.#pings.set(ping, controller);
    const { signal } = controller;
    this.#session
      .ping({ ...(typeof timeoutMs === 'number' ? { timeoutMs } : {}), signal })
      .catch(() => {
        // The host's use of the answer is outside the session.
      });
  }

  #resolved(line: ResolvedLine): string | undefined {
    const resolution = this.#resolutions.get(line.resolved);
    if (!resolution) {
      return 'the recorded session has resolved roots, and the replayed one has not begun to';
    }
    if (line.thrown === undefined) resolution.resolve(line.roots ?? []);
    else resolution.reject(new Error(line.thrown));
    return undefined;
  }

  protected async end(): Promise<void> {
    if (this.#session.actor.getSnapshot().status !== 'active') return;
    this.#session.actor.stop();
    await this.#session.closed;
  }
}
