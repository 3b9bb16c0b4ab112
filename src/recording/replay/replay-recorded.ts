/**
 * Replays a session whose whole outside is taken from the recording, what the handlers did
 * included. Nothing waits for real time and nothing is left to chance: the same code gives the same
 * outputs in the same order.
 */
import type { Root } from '../../machines/roots-report.ts';
import type { OutboundFrame } from '../../protocol/frames.ts';
import type { TaskSupport } from '../../protocol/tasks.ts';
import { createMcpServer } from '../../server/create-server.ts';
import type { Notice, Notify, SessionEnvironment } from '../../session/session-environment.ts';
import type { McpSession } from '../../server/session.ts';
import { defineTool } from '../../define/tool.ts';
import type { Tool } from '../../define/tool.ts';
import type { InputLine, PingLine, RecordingHeader, ResolvedLine } from '../format.ts';
import { RecordingError } from '../recording.ts';
import type { NumberedLine, Recording } from '../recording.ts';
import type { Difference } from './difference.ts';
import type { Playback } from './playback.ts';
import { giveInputs } from './give-inputs.ts';
import { RecordingCursor } from './recording-cursor.ts';
import {
  ReplayClock,
  optionsOf,
  replayEnvironment,
  replayEnds,
  writerFact,
} from './replay-world.ts';
import type { ReplayEnds } from './replay-world.ts';
import { ReplayedHandlers, paramsOf } from './replayed-handlers.ts';

/** Gives the first difference, or undefined. */
export function replayRecorded(
  recording: Recording,
  header: RecordingHeader,
  playback: Playback,
): Promise<Difference | undefined> {
  return new Player(recording, header, playback).play();
}

interface Resolution {
  resolve(roots: readonly Root[]): void;
  reject(error: Error): void;
}

interface Computation {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

class Player {
  readonly #name: string;
  readonly #header: RecordingHeader;
  readonly #playback: Playback;
  readonly #cursor: RecordingCursor;
  readonly #clock: ReplayClock;
  readonly #handlers: ReplayedHandlers;
  readonly #ends: ReplayEnds;
  readonly #session: McpSession;
  readonly #resolutions = new Map<number, Resolution>();
  readonly #pings = new Map<number, AbortController>();
  readonly #computations: Computation[] = [];
  #notify: Notify = () => {};
  #notice: Notice = () => {};

  constructor(recording: Recording, header: RecordingHeader, playback: Playback) {
    this.#name = recording.name;
    this.#header = header;
    this.#playback = playback;
    this.#cursor = new RecordingCursor(recording, (output) => playback.matched(output));
    this.#clock = new ReplayClock(header.at);
    const giveNested = () => this.#giveNested();
    const cursor = this.#cursor;
    this.#handlers = new ReplayedHandlers({
      started: (started, { id, method }) => cursor.output({ started, id, method }),
      told: (call, told) => cursor.output({ told, call }),
      resumption: (method) => cursor.resumption(method),
      judged: () => this.#computed(),
      giveNested,
    });
    this.#ends = replayEnds({
      said: (server) => cursor.output({ server }),
      afterwards: giveNested,
    });
    this.#session = this.#listen();
  }

  async play(): Promise<Difference | undefined> {
    const cursor = this.#cursor;
    await giveInputs(cursor, this.#playback, (input) => this.#give(input));
    await this.#end();
    return cursor.difference;
  }

  #listen(): McpSession {
    const { capabilities, serverInfo } = this.#header.server;
    const { name, version } = serverInfo;
    const tools = Object.entries(this.#header.taskTools).map(([tool, taskSupport]) =>
      this.#tool(tool, taskSupport),
    );
    const server = createMcpServer({ name, version, ...(capabilities['tools'] ? { tools } : {}) });
    return server.listen(this.#ends.transport, {
      ...optionsOf(this.#header),
      clock: this.#clock,
      environment: this.#environment(),
      // It was reported when it happened.
      report: () => {},
      ...this.#playback.session,
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
    const [header, cursor] = [this.#header, this.#cursor];
    let resolutions = 0;
    const environment = replayEnvironment({
      header,
      clock: this.#clock,
      transport: this.#ends.transport,
      random: (of) => cursor.random(of),
      output: (line) => cursor.output(line),
      server: () => header.server,
      afterwards: () => this.#giveNested(),
    });
    return {
      ...environment,
      begin: (session) => {
        this.#notify = session.notify;
        this.#notice = session.notice;
        return environment.begin(session);
      },
      handlers: () =>
        new Map(header.methods.map((method) => [method, this.#handlers.handlerOf(method)])),
      resolveRoots: () => {
        if (!header.resolvesRoots) return undefined;
        return () =>
          new Promise((resolve, reject) => {
            const number = ++resolutions;
            this.#resolutions.set(number, { resolve, reject });
            cursor.output({ resolve: number });
            this.#giveNested();
          });
      },
      sealer: () => ({
        seal: () => this.#computed(),
        open: () => this.#computed(),
        digest: () => this.#computed(),
        turn: () => this.#computed(),
      }),
      // The recording has the notifications that belong to no call.
      notify: () => {},
      notice: () => {},
    };
  }

  /** What was computed in the recorded session, once it has it. */
  #computed<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#computations.push({ resolve: resolve as Computation['resolve'], reject });
    });
  }

  #giveNested(): void {
    for (;;) {
      const { input } = this.#cursor;
      if (!input?.line.nested || !this.#cursor.isCaughtUp || this.#cursor.difference) return;
      this.#give(input);
    }
  }

  #give(input: NumberedLine<InputLine>): void {
    this.#cursor.take();
    this.#playback.given(input);
    this.#clock.advanceTo(input.line.at);
    const problem = this.#do(input.line);
    if (problem !== undefined) this.#cursor.refuse(input, problem);
  }

  /** Gives the session an input. Says why it cannot, if it cannot. */
  #do(line: InputLine): string | undefined {
    if ('client' in line || 'frames' in line) this.#ends.receive(line);
    else if ('gone' in line) this.#ends.gone(line);
    else if ('unsent' in line) {
      if (!this.#ends.unsent(line)) {
        return `the recorded session heard that ${line.unsent} was not sent, and the replayed one has not said it`;
      }
    } else if ('end' in line) this.#ends.tell({ type: 'input.ended' });
    else if ('timer' in line) {
      if (!this.#clock.fire(line.timer)) {
        return `timer ${line.timer} fired in the recorded session, and the replayed one has not set it, or has cleared it`;
      }
    } else if ('output' in line || 'channel' in line) this.#ends.tell(writerFact(line));
    else if ('shutdown' in line) {
      this.#session.shutdown(line.shutdown, line.drainTimeoutMs ?? undefined);
    } else if ('write' in line) this.#write(line.write);
    else if ('ping' in line) this.#ping(line);
    else if ('notice' in line) this.#notice(line.notice, line.uri);
    else if ('computed' in line) {
      const computation = this.#computations[line.computed - 1];
      if (!computation) {
        return `the recorded session has the outcome of computation ${line.computed} (${line.for}), and the replayed one has not begun it`;
      }
      if (line.thrown === undefined) computation.resolve(line.value);
      else computation.reject(new Error(line.thrown));
    } else if ('resolved' in line) return this.#resolved(line);
    else if ('call' in line) {
      if (!this.#handlers.do(line)) {
        return `the replayed session has not started the handler that was the recorded one's call ${line.call}`;
      }
    } else if ('notify' in line) this.#notify(line.notify, paramsOf(line));
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
        // What the host made of the answer is outside the session.
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

  /** Ends the session even if its recording has no end, or it differs: nothing of it stays. */
  async #end(): Promise<void> {
    if (this.#session.actor.getSnapshot().status !== 'active') return;
    this.#session.actor.stop();
    await this.#session.closed;
  }
}
