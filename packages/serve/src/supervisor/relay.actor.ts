/**
 * Passes the messages of one session on between its host and the process that serves it, line by line, and keeps what
 * another process would have to be sent: the requests without an answer and the state of the session.
 *
 * Bytes that need no change are passed on as they came. A line that a process has not finished when it ends is dropped.
 */
import type { Readable, Writable } from 'node:stream';
import { systemClock } from '../../../../src/actors/clock.ts';
import type { Report } from '../../../../src/actors/facts.ts';
import { redactText } from '../../../diagnostics/src/redaction.ts';
import { plainActor } from '../../../../src/machines/port.ts';
import type { Behaviour } from '../../../../src/machines/port.ts';
import type { ExitStatus } from '../../../processes/src/process.machine.ts';
import type { RelayEvent, RelayInput } from './supervisor.machine.ts';
import { processActor } from '../../../processes/src/child.actor.ts';
import type { ProcessActor, ProcessFactName } from '../../../processes/src/child.actor.ts';
import type { ServerCommand } from '../../../processes/src/command.ts';
import { StderrLog } from '../../../processes/src/stderr-log.ts';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import { ErrorCode, textOfError } from '../../../../src/protocol/errors.ts';
import type { JsonObject, WireError } from '../../../../src/protocol/frames.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import { listMethods } from '../../../../src/protocol/subscriptions.ts';
import { ByteLines } from './byte-lines.ts';
import { HostRequests } from './host-requests.ts';
import type { HostRequest } from './host-requests.ts';
import { idOf, isBatch, memberOf, scanLine, scanOne } from './message-scan.ts';
import type { ScannedMessage, Span } from './message-scan.ts';
import { lineOf } from './lines.ts';
import { ServerQuestions } from './server-questions.ts';
import type { Passing } from './server-questions.ts';
import { SessionReplay, listChanged } from './session-replay.ts';

export interface RelayScope {
  readonly command: ServerCommand;
  /** The host's pipes. */
  readonly input: Readable;
  readonly output: Writable;
  /** Gets all that processes write to stderr. */
  readonly stderr: (chunk: Buffer) => void;
  readonly report: Report<ProcessFactName | 'session.unrestored'>;
  /** A line that exceeds this is passed on in pieces, and not known. */
  readonly maxLineBytes: number;
}

/** Limit for host input waiting for a process, bytes. Reading stops beyond it. */
const maxHeldBytes = 1024 ** 2;

/** The logic of a relay. */
export const relayActor = plainActor<RelayEvent, RelayInput>(({ input }) => new Relay(input));

type Identified = ScannedMessage & { readonly id: string; readonly idSpan: Span };

/** One run of the server. */
interface Run {
  readonly process: ProcessActor;
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  exit: ExitStatus;
}

class Relay implements Behaviour<RelayEvent> {
  readonly #supervisor: RelayInput['supervisor'];
  readonly #scope: RelayScope;
  readonly #requests = new HostRequests();
  readonly #questions = new ServerQuestions();
  readonly #session = new SessionReplay();
  readonly #fromHost: ByteLines;
  /** Lines of the host that wait for a process. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  #run: Run | undefined = undefined;
  /** Stderr of the last process. */
  #stderr = new StderrLog();
  /** `restoring`: only the state of the session is sent, and the answers to it are not the host's. */
  #traffic: 'closed' | 'restoring' | 'open' = 'closed';
  /** Whether the process has answered a request of the host. */
  #hasAnswered = false;
  /** Whether the host is in the middle of a line that is passed on in pieces, of which this process has the beginning. */
  #isPassingPieces = false;
  /** Whether the host has the beginning of a line whose process has ended. */
  #isHostLineOpen = false;
  /** Lines for one side, written together. */
  #toServer: Buffer[] = [];
  #toHost: Buffer[] = [];

  constructor({ supervisor, scope }: RelayInput) {
    this.#supervisor = supervisor;
    this.#scope = scope as RelayScope;
    const { input, output, maxLineBytes } = this.#scope;
    this.#fromHost = new ByteLines(maxLineBytes, {
      line: (line) => this.#takeFromHost(line),
      piece: (piece) => this.#takePieceFromHost(piece),
    });
    input.on('data', this.#onHostData);
    input.once('end', this.#onHostEnd);
    input.once('close', this.#onHostLeft);
    input.on('error', this.#onHostLeft);
    output.on('drain', this.#onHostDrain);
    output.on('error', this.#onHostLeft);
  }

  get view(): object {
    const { size } = this.#requests;
    return { traffic: this.#traffic, pid: this.#run?.pid, pending: size, held: this.#held.length };
  }

  receive(event: RelayEvent): void {
    switch (event.type) {
      case 'server.launch':
        return this.#launch();
      case 'session.restore':
        this.#traffic = 'restoring';
        this.#toServer.push(this.#session.begin());
        return this.#flush();
      case 'traffic.open':
        return this.#open();
      case 'input.close':
        return void this.#run?.stdin.end();
      case 'server.terminate':
        return this.#terminate();
      case 'server.kill':
        return this.#run?.process.send({ type: 'process.kill' });
      case 'requests.fail':
        this.#refuse(this.#requests.clear(), this.#endedError());
        return this.#flush();
    }
  }

  stop(): void {
    const { input, output } = this.#scope;
    input.off('data', this.#onHostData);
    input.pause();
    output.off('drain', this.#onHostDrain);
    this.#run?.process.send({ type: 'process.kill' });
  }

  readonly #onHostData = (chunk: Buffer): void => {
    this.#fromHost.push(chunk);
    this.#flush();
  };

  readonly #onHostEnd = (): void => {
    this.#fromHost.end();
    this.#flush();
    this.#onHostLeft();
  };

  readonly #onHostLeft = (): void => {
    this.#supervisor.send({ type: 'host.left' });
  };

  readonly #onHostDrain = (): void => {
    this.#run?.stdout.resume();
  };

  /** Only the process itself, which ends what it has started: its group may have other things to do first. */
  #terminate(): void {
    const run = this.#run;
    if (!run) return;
    try {
      process.kill(run.pid, 'SIGTERM');
    } catch (error) {
      // The process ended meanwhile; its exit event reports that.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  #launch(): void {
    const { command, report, stderr } = this.#scope;
    const log = new StderrLog();
    this.#stderr = log;
    let pipes: { readonly stdin: Writable; readonly stdout: Readable } | undefined;
    const launched = processActor({
      ...{ command, report, clock: systemClock, isWatched: true },
      stderr: {
        push: (chunk) => {
          log.push(chunk);
          stderr(chunk);
        },
        end: () => {},
      },
      launched: ({ stdin, stdout }) => {
        pipes = { stdin, stdout };
        this.#read(stdout);
        stdin.on('drain', () => this.#readHost());
      },
    });
    launched.on('process.failed', ({ error }) =>
      this.#supervisor.send({ type: 'server.failed', message: textOfError(error) }),
    );
    launched.on('process.launched', ({ pid }) => {
      if (!pipes) return;
      this.#run = { process: launched, pid, ...pipes, exit: { code: null, signal: null } };
      this.#hasAnswered = false;
      this.#supervisor.send({ type: 'server.launched', hasSession: this.#session.hasSession });
    });
    launched.on('process.exited', ({ code, signal }) => {
      if (this.#run) this.#run.exit = { code, signal };
    });
    launched.on('process.gone', () => this.#lost());
    launched.start();
  }

  #read(stdout: Readable): void {
    const lines = new ByteLines(this.#scope.maxLineBytes, {
      line: (line) => this.#takeFromServer(line),
      piece: (piece) => {
        this.#isHostLineOpen = lines.isInPieces;
        this.#toHost.push(piece);
      },
    });
    stdout.on('data', (chunk: Buffer) => {
      lines.push(chunk);
      this.#flush();
    });
  }

  #lost(): void {
    const { code, signal } = this.#run?.exit ?? { code: null, signal: null };
    this.#run = undefined;
    this.#traffic = 'closed';
    this.#isPassingPieces = false;
    if (this.#isHostLineOpen) this.#toHost.push(Buffer.from('\n'));
    this.#isHostLineOpen = false;
    this.#refuse(this.#requests.lose(), lost);
    this.#toHost.push(...this.#questions.lose(), ...this.#questions.forget(this.#requests.oldest));
    this.#flush();
    this.#readHost();
    this.#supervisor.send({ type: 'server.gone', code, signal });
  }

  #open(): void {
    const isAgain = this.#traffic === 'restoring';
    this.#traffic = 'open';
    this.#toServer.push(...this.#requests.again());
    if (isAgain) this.#toHost.push(...this.#session.changes());
    this.#toHost.push(...this.#subscribedChanges());
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    for (const line of held) this.#takeFromHost(line);
    this.#flush();
    this.#readHost();
  }

  /** Changes of lists, for the subscriptions of a revision without sessions that another process has accepted. */
  *#subscribedChanges(): Iterable<Buffer> {
    for (const { line, idText, losses } of this.#requests.of(Method.listen)) {
      if (!line || losses === 0) continue;
      const { params } = JSON.parse(line.toString()) as { readonly params?: JsonObject };
      const filter = params?.['notifications'];
      for (const [member, method] of Object.entries(listMethods)) {
        if (isJsonObject(filter) && filter[member] === true) yield listChanged(method, idText);
      }
    }
  }

  #takeFromHost(line: Buffer): void {
    if (this.#traffic !== 'open') {
      this.#held.push(Buffer.from(line));
      this.#heldBytes += line.length;
      return;
    }
    const found = scanLine(line);
    if (isBatch(found) && found.length > 0) return this.#takeHostBatch(line, found);
    // The server has an answer to what is no message.
    if (!found || isBatch(found)) return void this.#toServer.push(line);
    this.#takeHostMessage(line, found);
  }

  /** The members of a batch get their answers one by one if the process ends before it has answered them. */
  #takeHostBatch(line: Buffer, messages: readonly ScannedMessage[]): void {
    const before = this.#toServer;
    this.#toServer = [];
    for (const message of messages) {
      const own = lineOf(line, message);
      const found = scanOne(own);
      if (found) this.#takeHostMessage(own, found);
    }
    const members = this.#toServer.map((each) => each.subarray(0, -1));
    const parts = members.flatMap((each, at) => [Buffer.from(at === 0 ? '[' : ','), each]);
    this.#toServer = before;
    if (members.length > 0) this.#toServer.push(Buffer.concat([...parts, Buffer.from(']\n')]));
  }

  #takeHostMessage(line: Buffer, message: ScannedMessage): void {
    const { method } = message;
    if (isIdentified(message)) {
      if (method === undefined) return this.#pass(this.#questions.answered(line, message));
      const request = { ...message, method };
      if (this.#requests.isFull) {
        const idText = line.toString('utf8', message.idSpan.from, message.idSpan.to);
        return this.#answerWithError(idText, overloaded);
      }
      return void this.#toServer.push(this.#requests.add(line, request));
    }
    if (method === Method.initialized) this.#session.initialized(line);
    // A request that is cancelled gets no answer.
    if (method === Method.cancelled) this.#settle(requestIdIn(line, message));
    this.#toServer.push(line);
  }

  #takePieceFromHost(piece: Buffer): void {
    const isBeginning = !this.#isPassingPieces;
    if (this.#traffic !== 'open' && isBeginning) return;
    this.#isPassingPieces = this.#fromHost.isInPieces;
    this.#toServer.push(piece);
  }

  #takeFromServer(line: Buffer): void {
    const message = scanLine(line);
    if (!message) return void this.#toHost.push(line);
    if (isBatch(message)) {
      // Only answers come in batches.
      for (const { id } of message) this.#settle(id);
      this.#answered();
      return void this.#toHost.push(line);
    }
    const { id, method } = message;
    if (!isIdentified(message)) {
      if (method !== Method.cancelled) return void this.#toHost.push(line);
      const cancelled = requestIdIn(line, message);
      return void this.#toHost.push(this.#questions.cancelled(line, message, cancelled));
    }
    if (method !== undefined) {
      return this.#pass(this.#questions.asked(line, message, this.#requests.next));
    }
    if (this.#session.isRepeated(message.id)) return this.#takeRepeated(line, message);
    const request = this.#settle(id);
    if (request?.line && !message.isError && this.#session.concerns(request.method)) {
      const own = scanOne(request.line);
      if (own) this.#session.succeeded(request.line, own, line);
    }
    this.#toHost.push(line);
    this.#answered();
  }

  /** The answer to a request that was repeated to give a process the state of the session. */
  #takeRepeated(line: Buffer, { isError }: ScannedMessage): void {
    if (this.#traffic === 'restoring') {
      const rest = isError
        ? `The restarted server refuses the session: ${beginningOf(line)}`
        : this.#session.restored(line);
      if (typeof rest === 'string') {
        return this.#supervisor.send({ type: 'session.refused', message: rest.trimEnd() });
      }
      this.#toServer.push(...rest);
      this.#flush();
      return this.#supervisor.send({ type: 'session.restored' });
    }
    if (!isError) return;
    const message = `The restarted server refuses a part of the session's state: ${beginningOf(line)}`;
    this.#scope.report({ level: 'warning', name: 'session.unrestored', message });
  }

  #answered(): void {
    if (this.#hasAnswered) return;
    this.#hasAnswered = true;
    this.#supervisor.send({ type: 'server.answered' });
  }

  #settle(id: string | undefined): HostRequest | undefined {
    const request = id === undefined ? undefined : this.#requests.settle(id);
    if (request) this.#toHost.push(...this.#questions.forget(this.#requests.oldest));
    return request;
  }

  #pass({ toHost, toServer }: Passing): void {
    if (toHost) this.#toHost.push(toHost);
    if (toServer) this.#toServer.push(toServer);
  }

  /** The error of a request that no process will serve, with the last stderr output. */
  #endedError(): WireError {
    const words = this.#stderr.lastLines();
    const message = 'The server has ended and will not be restarted';
    return {
      code: ErrorCode.serverUnavailable,
      message: words === '' ? message : `${message}. Its last stderr output: ${redactText(words)}`,
      data: { reason: 'process-ended', retryable: false },
    };
  }

  #refuse(requests: readonly HostRequest[], error: WireError): void {
    for (const { idText } of requests) this.#answerWithError(idText, error);
  }

  #answerWithError(idText: string, given: WireError): void {
    // The revisions without sessions have no code of their own for it.
    const error = this.#session.hasSession ? given : { ...given, code: ErrorCode.internalError };
    const text = `{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(error)}}\n`;
    this.#toHost.push(Buffer.from(text));
  }

  /** Writes what has been collected, and stops reading a side whose reader does not keep up. */
  #flush(): void {
    const { output } = this.#scope;
    const toHost = this.#toHost;
    const toServer = this.#toServer;
    this.#toHost = [];
    this.#toServer = [];
    const run = this.#run;
    if (!writeAll(output, toHost)) run?.stdout.pause();
    if (run && !writeAll(run.stdin, toServer)) this.#scope.input.pause();
    if (this.#heldBytes > maxHeldBytes) this.#scope.input.pause();
  }

  #readHost(): void {
    if (this.#heldBytes <= maxHeldBytes) this.#scope.input.resume();
  }
}

/** Limit for joining several lines into one write, bytes. */
const maxJoinedBytes = 64 * 1024;

/** @returns false if the stream is to be left alone until it has drained */
function writeAll(stream: Writable, lines: readonly Buffer[]): boolean {
  const [only] = lines;
  if (!only || !stream.writable) return true;
  if (lines.length === 1) return stream.write(only);
  const bytes = lines.reduce((sum, { length }) => sum + length, 0);
  // A write costs more than a copy of short lines.
  if (bytes <= maxJoinedBytes) return stream.write(Buffer.concat(lines, bytes));
  stream.cork();
  let isTaken = true;
  for (const line of lines) isTaken = stream.write(line);
  stream.uncork();
  return isTaken;
}

/** Limit for the part of an answer that an error quotes, bytes. */
const maxQuotedBytes = 500;

const beginningOf = (line: Buffer): string => line.toString('utf8', 0, maxQuotedBytes).trimEnd();

function isIdentified(message: ScannedMessage): message is Identified {
  return message.id !== undefined;
}

function requestIdIn(line: Buffer, { params }: ScannedMessage): string | undefined {
  const place = params && memberOf(line, params, 'requestId');
  return place && idOf(line, place);
}

/** The error of a request whose process has ended: it may have had its effects. */
const lost: WireError = {
  code: ErrorCode.serverUnavailable,
  message: 'The process that served this request has ended, and the request cannot be resumed',
  data: { reason: 'process-ended', retryable: true },
};

const overloaded: WireError = {
  code: ErrorCode.serverUnavailable,
  message: 'Too many requests have no answer yet; try again later',
  data: { reason: 'overloaded', retryable: true },
};
