/**
 * Replays a session with everything from outside taken from the recording, what the handlers did included. Nothing waits for real time, and
 * nothing is left to chance: the same code gives the same outputs in the same order.
 */
import { setImmediate } from 'node:timers/promises';
import type { InboundFrame, OutboundFrame } from '../../protocol/frames.ts';
import type { Root } from '../../machines/roots-report.ts';
import type { TaskSupport } from '../../protocol/tasks.ts';
import { createMcpServer } from '../../server/create-server.ts';
import type { McpSession } from '../../server/session.ts';
import type { Notify, SessionEdge } from '../../session/session-edge.ts';
import { defineTool } from '../../define/tool.ts';
import type { Tool } from '../../define/tool.ts';
import type { Difference } from './difference.ts';
import type { InputLine, OutputLine, RecordingHeader } from '../format.ts';
import { recordedFrame } from '../inbound-messages.ts';
import { settledRounds } from '../passage.ts';
import type { Playing } from './playing.ts';
import { RecordingError } from '../recording.ts';
import type { NumberedLine, Recording } from '../recording.ts';
import { ReplayClock } from './replay-clock.ts';
import { replayEdge } from './replay-edge.ts';
import { replayEnds } from './replay-ends.ts';
import type { ReplayEnds } from './replay-ends.ts';
import { ReplayHandlers, paramsOf } from './replay-handlers.ts';
import type { WithParams } from './replay-handlers.ts';
import { Script } from './script.ts';

/** The first difference, or undefined. */
export function replayRecorded(
  recording: Recording,
  header: RecordingHeader,
  playing: Playing,
): Promise<Difference | undefined> {
  return new Player(recording, header, playing).play();
}

interface Resolution {
  resolve(roots: readonly Root[]): void;
  reject(error: Error): void;
}

class Player {
  readonly #name: string;
  readonly #header: RecordingHeader;
  readonly #playing: Playing;
  readonly #script: Script;
  readonly #clock: ReplayClock;
  readonly #handlers: ReplayHandlers;
  readonly #ends: ReplayEnds;
  readonly #session: McpSession;
  readonly #resolutions = new Map<number, Resolution>();
  readonly #pings = new Map<number, AbortController>();
  #notify: Notify = () => {};

  constructor(recording: Recording, header: RecordingHeader, playing: Playing) {
    this.#name = recording.name;
    this.#header = header;
    this.#playing = playing;
    this.#script = new Script(recording, playing.matched);
    this.#clock = new ReplayClock(header.at);
    const giveNested = () => this.#giveNested();
    const script = this.#script;
    this.#handlers = new ReplayHandlers({
      started: (started, { id, method }) => script.output({ started, id, method }),
      told: (call, told) => script.output({ told, call }),
      load: (load) => script.output({ load }),
      giveNested,
    });
    this.#ends = replayEnds({
      said: (server) => script.output({ server }),
      afterwards: giveNested,
    });
    this.#session = this.#listen();
  }

  async play(): Promise<Difference | undefined> {
    const script = this.#script;
    for (let input = script.input; input && !script.difference; input = script.input) {
      const { nested, rounds } = input.line;
      if (!nested && rounds === undefined) {
        await this.#playing.before(input);
        await setImmediate();
      } else {
        // A nested one is given by the call that it came in; it waits here for that call.
        const earliest = nested ? 0 : (rounds ?? 0);
        let round = 0;
        // No function of its own: each would be a round.
        for (; round < settledRounds; round++) {
          if (script.input !== input || (round >= earliest && script.isCaughtUp)) break;
          await Promise.resolve();
        }
        if (round === settledRounds) await setImmediate();
      }
      if (script.input !== input) continue;
      script.expectCaughtUp();
      if (!script.difference) this.#give(input);
    }
    await setImmediate();
    script.expectCaughtUp();
    await this.#end();
    return script.difference;
  }

  #listen(): McpSession {
    const { capabilities, serverInfo } = this.#header.server;
    const { name, version } = serverInfo;
    const tools = Object.entries(this.#header.taskTools).map(([tool, taskSupport]) =>
      this.#tool(tool, taskSupport),
    );
    const server = createMcpServer({ name, version, ...(capabilities['tools'] ? { tools } : {}) });
    const { watchers, report } = this.#playing;
    return server.listen(this.#ends.transport, {
      limits: this.#header.limits,
      clock: this.#clock,
      edge: this.#edge(),
      ...(watchers ? { watchers } : {}),
      ...(report ? { report } : {}),
    });
  }

  #tool(name: string, taskSupport: TaskSupport): Tool {
    try {
      return defineTool({ name, description: '', taskSupport, handler: () => '' });
    } catch (error) {
      const fault = `${this.#name}: the header's taskTools: ${(error as Error).message}`;
      throw new RecordingError(fault, { cause: error });
    }
  }

  #edge(): SessionEdge {
    const { header, script } = { header: this.#header, script: this.#script };
    let resolutions = 0;
    const edge = replayEdge({
      header,
      clock: this.#clock,
      transport: this.#ends.transport,
      random: (of) => script.random(of),
      output: (line) => script.output(line),
      server: () => header.server,
      afterwards: () => this.#giveNested(),
    });
    return {
      ...edge,
      begin: (session) => {
        this.#notify = session.notify;
        return edge.begin(session);
      },
      handlers: () =>
        new Map(
          header.methods.map((method) => [
            method,
            this.#handlers.handlerOf(method, header.prepared.includes(method)),
          ]),
        ),
      resolveRoots: () => {
        if (!header.resolvesRoots) return undefined;
        return () =>
          new Promise((resolve, reject) => {
            const number = ++resolutions;
            this.#resolutions.set(number, { resolve, reject });
            script.output({ resolve: number });
            this.#giveNested();
          });
      },
      // What the author's code says on no call's behalf is in the recording.
      notify: () => {},
    };
  }

  #giveNested(): void {
    for (;;) {
      const { input } = this.#script;
      if (!input?.line.nested || !this.#script.isCaughtUp || this.#script.difference) return;
      this.#give(input);
    }
  }

  #give(input: NumberedLine<InputLine>): void {
    this.#script.take();
    this.#playing.given(input);
    this.#clock.advanceTo(input.line.at);
    const problem = this.#do(input.line);
    if (problem !== undefined) this.#script.refuse(input, problem);
  }

  /** Says why it cannot be done, where it cannot. */
  #do(line: InputLine): string | undefined {
    if ('client' in line) this.#ends.receive(line.client.map(recordedFrame));
    else if ('frames' in line) this.#ends.receive(line.frames as readonly InboundFrame[]);
    else if ('end' in line) this.#ends.tell({ type: 'input.ended' });
    else if ('timer' in line) {
      if (!this.#clock.fire(line.timer)) {
        return `timer ${line.timer} fired in the recorded session, and the replayed one has not set it, or has cleared it`;
      }
    } else if ('output' in line) this.#flow(line.output, line.error);
    else if ('shutdown' in line) this.#session.shutdown(line.shutdown, line.drainTimeoutMs);
    else if ('write' in line) this.#write(line.write);
    else if ('ping' in line) this.#ping(line);
    else if ('loaded' in line) {
      if (!this.#handlers.loaded(line.loaded)) {
        return `the recorded session has loaded what ${line.loaded} needs, and the replayed one has not asked for it`;
      }
    } else if ('resolved' in line) return this.#resolved(line);
    else if ('call' in line) {
      if (!this.#handlers.do(line)) {
        return `the replayed session has not started the handler that was the recorded one's call ${line.call}`;
      }
    } else if ('notify' in line) this.#notify(line.notify, paramsOf(line as WithParams));
    return undefined;
  }

  #flow(output: OutputLine['output'], error: string | undefined): void {
    if (output === 'broken') this.#ends.tell({ type: 'output.broken', error: new Error(error) });
    else this.#ends.tell({ type: `output.${output}` });
  }

  #write(frames: readonly unknown[]): void {
    const { writer } = this.#session.actor.getSnapshot().context;
    writer.send({ type: 'frames.send', frames: frames as OutboundFrame[] });
  }

  #ping(line: { readonly ping: number; readonly timeoutMs?: number; readonly withdrawn?: string }) {
    const { ping, timeoutMs, withdrawn } = line;
    if (withdrawn !== undefined) return this.#pings.get(ping)?.abort(withdrawn);
    const controller = new AbortController();
    this.#pings.set(ping, controller);
    const { signal } = controller;
    this.#session.ping({ ...(timeoutMs === undefined ? {} : { timeoutMs }), signal }).catch(() => {
      // What the host made of it is no part of the session.
    });
  }

  #resolved(line: {
    readonly resolved: number;
    readonly roots?: readonly Root[];
    readonly thrown?: string;
  }): string | undefined {
    const resolution = this.#resolutions.get(line.resolved);
    if (!resolution) {
      return 'the recorded session has resolved roots, and the replayed one has not begun to';
    }
    if (line.thrown === undefined) resolution.resolve(line.roots ?? []);
    else resolution.reject(new Error(line.thrown));
    return undefined;
  }

  /** A session that was not recorded to its end, or differs, is ended nevertheless: nothing of it stays. */
  async #end(): Promise<void> {
    if (this.#session.actor.getSnapshot().status !== 'active') return;
    this.#session.actor.stop();
    await this.#session.closed;
  }
}
