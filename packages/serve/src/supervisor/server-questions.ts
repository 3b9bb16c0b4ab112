/**
 * Requests of the server to its host. A question of a durable call stays open at the host while the process changes: the
 * next process that asks it gets the host's answer, and the host is not asked twice.
 */
import { questionKey } from '../../../../src/protocol/durable-calls.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import { replaced } from './lines.ts';
import { memberOf, textOf } from './message-scan.ts';
import type { ScannedMessage, Span } from './message-scan.ts';

type Identified = ScannedMessage & { readonly id: string; readonly idSpan: Span };

interface Question {
  /** The id that the host knows. */
  readonly host: string;
  readonly hostText: string;
  /** The id that the present process knows; undefined while no process asks. */
  server: { readonly id: string; readonly text: string } | undefined;
  /** Undefined for a question that no other process asks again. */
  readonly key: string | undefined;
  /** The number of the next request of the host when it was asked: an older call asks. */
  readonly askedAt: number;
  /** The host's answer, with its id at `idSpan`. */
  answer: { readonly line: Buffer; readonly idSpan: Span } | undefined;
}

/** Outcome for one line. */
export interface Passing {
  readonly toHost?: Buffer;
  readonly toServer?: Buffer;
}

/** Limits for remembered questions and for bytes of their answers. The oldest are evicted first. */
const maxQuestions = 4096;
const maxAnswerBytes = 16 * 1024 ** 2;

export class ServerQuestions {
  /** In the order in which they were asked. */
  readonly #byHost = new Map<string, Question>();
  readonly #byServer = new Map<string, Question>();
  readonly #byKey = new Map<string, Question>();
  #answerBytes = 0;

  /** The server asks. @param askedAt see {@link Question.askedAt} */
  asked(line: Buffer, message: Identified, askedAt: number): Passing {
    const { id, idSpan } = message;
    const server = { id, text: line.toString('utf8', idSpan.from, idSpan.to) };
    const found = keyIn(line, message);
    const known = found && this.#byKey.get(found.key);
    if (known && !known.server) {
      known.server = server;
      this.#byServer.set(id, known);
      return known.answer ? { toServer: answerTo(server.text, known.answer) } : {};
    }
    this.#add({
      ...{ host: id, hostText: server.text, server, askedAt },
      key: known ? undefined : found?.key,
      answer: undefined,
    });
    return { toHost: found ? found.without : line };
  }

  /** The host answers. The answer to a question that no process asks is kept until one does. */
  answered(line: Buffer, { id, idSpan }: Identified): Passing {
    const question = this.#byHost.get(id);
    // An answer to a question that was cancelled, or to none.
    if (!question) return { toServer: line };
    const { key, server } = question;
    if (key === undefined) this.#remove(question);
    else if (!question.answer) {
      question.answer = { line: Buffer.from(line), idSpan };
      this.#answerBytes += line.length;
      this.#trim();
    }
    if (!server) return {};
    return { toServer: server.id === id ? line : replaced(line, idSpan, server.text) };
  }

  /** The server cancels a request: the line for the host, which may know it by another id. */
  cancelled(line: Buffer, { params }: ScannedMessage, id: string | undefined): Buffer {
    const question = id === undefined ? undefined : this.#byServer.get(id);
    if (!question) return line;
    this.#remove(question);
    const place = params && memberOf(line, params, 'requestId');
    return place && question.host !== id ? replaced(line, place, question.hostText) : line;
  }

  /** The process has ended. @returns cancellations for the host of what no process asks again */
  lose(): readonly Buffer[] {
    const lines: Buffer[] = [];
    for (const question of this.#byHost.values()) {
      question.server = undefined;
      if (question.key !== undefined) continue;
      this.#remove(question);
      lines.push(cancellation(question));
    }
    this.#byServer.clear();
    return lines;
  }

  /**
   * Forgets the questions that only older calls than the oldest pending one would ask again.
   *
   * @param oldest the number of the host's oldest pending request; Infinity if there is none
   * @returns cancellations for the host of those that are still open and that no process asks
   */
  forget(oldest: number): readonly Buffer[] {
    if (this.#byHost.size === 0) return [];
    const lines: Buffer[] = [];
    for (const question of this.#byHost.values()) {
      if (question.askedAt > oldest) break;
      if (question.server && !question.answer) continue;
      this.#remove(question);
      if (!question.answer) lines.push(cancellation(question));
    }
    return lines;
  }

  #add(question: Question): void {
    this.#byHost.set(question.host, question);
    if (question.server) this.#byServer.set(question.server.id, question);
    if (question.key !== undefined) this.#byKey.set(question.key, question);
    this.#trim();
  }

  #remove(question: Question): void {
    this.#byHost.delete(question.host);
    if (question.server) this.#byServer.delete(question.server.id);
    if (question.key !== undefined) this.#byKey.delete(question.key);
    this.#answerBytes -= question.answer?.line.length ?? 0;
  }

  #trim(): void {
    for (const question of this.#byHost.values()) {
      if (this.#byHost.size <= maxQuestions && this.#answerBytes <= maxAnswerBytes) return;
      this.#remove(question);
    }
  }
}

function answerTo(id: string, { line, idSpan }: NonNullable<Question['answer']>): Buffer {
  return replaced(line, idSpan, id);
}

function cancellation({ hostText }: Question): Buffer {
  const params = `{"requestId":${hostText},"reason":"The process that asked has ended"}`;
  return Buffer.from(`{"jsonrpc":"2.0","method":"${Method.cancelled}","params":${params}}\n`);
}

interface Found {
  readonly key: string;
  /** The line without the key. */
  readonly without: Buffer;
}

function keyIn(line: Buffer, { params }: ScannedMessage): Found | undefined {
  const meta = params && memberOf(line, params, '_meta');
  const value = meta && memberOf(line, meta, questionKey);
  const key = value && textOf(line, value);
  if (!value || key === undefined) return undefined;
  // The server is ours, and writes members without spaces.
  const from = value.from - `"${questionKey}":`.length;
  const isFirst = line[from - 1] === '{'.charCodeAt(0);
  const hasNext = line[value.to] === ','.charCodeAt(0);
  const to = isFirst && hasNext ? value.to + 1 : value.to;
  return { key, without: replaced(line, { from: isFirst ? from : from - 1, to }, '') };
}
