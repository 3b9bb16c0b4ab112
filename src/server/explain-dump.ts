/** Why a session does not go on, as far as its dump tells. */
import { Method } from '../protocol/methods.ts';
import { countInWords, nameInWords, sizeInWords, timeInWords } from './plain-words.ts';
import type { CallDump, PendingDump, SessionDump } from './session-dump.ts';

/** Causes of one kind are many only where the cause is one: a client that answers nothing. */
const maxOfAKind = 20;

/**
 * Says in plain words what a session waits for and since when: the nearest causes first, one sentence without a full stop each.
 *
 * @returns at least one; where nothing is pending, that it waits for the client
 */
export function explainDump(dump: SessionDump): readonly string[] {
  const causes = [
    ...handshake(dump),
    ...output(dump),
    ...preparation(dump),
    ...bounded(questions(dump)),
    ...places(dump),
    ...bounded(waitingForTasks(dump)),
    ...bounded(working(dump)),
    ...roots(dump),
  ];
  if (causes.length > 0) return causes;
  return [
    `Nothing is pending: the session waits for the client, last heard ${timeInWords(dump.quietMs)} ago`,
  ];
}

/** The client's request, or the task that has come of it: `tools/call 7 (search)`. */
export function callInWords({ id, method, subject, taskId }: CallDump): string {
  const name = `${nameInWords(method)} ${nameInWords(id)}`;
  const call = subject === undefined ? name : `${name} (${nameInWords(subject)})`;
  return taskId === undefined ? call : `the task ${nameInWords(taskId)}, begun by ${call},`;
}

function handshake({ state, ageMs, calls, quietMs }: SessionDump): string[] {
  switch (state.split('.')[0]) {
    case 'uninitialized':
      return [`The client has not sent initialize, ${timeInWords(ageMs)} after the start`];
    case 'negotiated':
      return [
        `The client has not sent notifications/initialized, last heard ${timeInWords(quietMs)} ago; until it has, nothing may be asked of it`,
      ];
    case 'draining':
      return [
        state === 'draining.flushing'
          ? 'The session is ending: it waits for the client to read the rest of the output'
          : `The session is ending: ${countInWords(calls.length, 'request')} may still end by ${calls.length === 1 ? 'itself' : 'themselves'}, then it closes`,
      ];
    case 'closed':
      return ['The session has ended'];
    default:
      return [];
  }
}

function output({ queues: { outboundBytes, holds } }: SessionDump): string[] {
  const { count } = outboundBytes;
  if (holds.includes('output')) {
    return [
      `The client does not read: ${sizeInWords(count)} wait for it, and no request is started until it has read them all`,
    ];
  }
  return count === 0 ? [] : [`${sizeInWords(count)} wait until the client reads on`];
}

function preparation({ queues: { holds, waiting } }: SessionDump): string[] {
  if (!holds.includes('preparation')) return [];
  return [
    `${countInWords(waiting.count, 'request')} ${waiting.count === 1 ? 'waits' : 'wait'} while what a handler needs is loaded`,
  ];
}

/** What we have asked the client and have no answer to, oldest first. */
function questions(dump: SessionDump): string[] {
  return dump.pending.map((request) => {
    const { method, state, ageMs, leftMs } = request;
    const asker = dump.calls.find((call) => isAsker(call, request));
    const name = nameInWords(method);
    const left = `given up in ${timeInWords(leftMs)}`;
    if (state === 'held') {
      const who = asker ? capitalized(callInWords(asker)) : 'The session';
      return `${who} has ${name} to ask, held for ${timeInWords(ageMs)} until the client sends notifications/initialized, ${left}`;
    }
    const when = `asked ${timeInWords(ageMs)} ago, ${left}`;
    if (asker)
      return `${capitalized(callInWords(asker))} waits for the client's answer to ${name}, ${when}`;
    return `The client has not answered ${name}, ${when}${purpose(method)}`;
  });
}

function purpose(method: string): string {
  if (method === Method.rootsList) return '; what needs the roots waits for it';
  return method === Method.ping ? '; it is asked whether it is there' : '';
}

function isAsker(call: CallDump, { relatedTo, taskId }: PendingDump): boolean {
  return taskId === undefined
    ? call.taskId === undefined && call.id === relatedTo
    : call.taskId === taskId;
}

/** Caps that are reached. */
function places({ calls, queues: { running, waiting, pending, tasks } }: SessionDump): string[] {
  const causes: string[] = [];
  if (running.count >= running.max && waiting.count > 0) {
    const [longest] = calls.filter(({ state, taskId }) => state === 'running' && !taskId);
    const example = longest
      ? `; the longest, ${callInWords(longest)}, for ${timeInWords(longest.ageMs)}`
      : '';
    const waits = waiting.count === 1 ? 'waits' : 'wait';
    causes.push(
      `${running.count} of ${running.max} requests run${example}; ${waiting.count} ${waits} for a place`,
    );
  }
  if (pending.count >= pending.max) {
    causes.push(
      `${pending.count} of ${pending.max} requests to the client are pending: no more are sent`,
    );
  }
  if (tasks.count >= tasks.max) {
    causes.push(`${tasks.count} of ${tasks.max} tasks run: no more are begun`);
  }
  return causes;
}

function waitingForTasks({ calls }: SessionDump): string[] {
  return calls
    .filter(({ state, openQuestions }) => state === 'parked' && openQuestions === 0)
    .map(
      (call) => `${callInWords(call)} has waited ${timeInWords(call.ageMs)} for the task to end`,
    );
}

function working({ calls, roots: { state } }: SessionDump): string[] {
  const unsettled = state === 'unasked' || state.startsWith('querying');
  return calls
    .filter((call) => call.state === 'running' && call.openQuestions === 0)
    .map(
      (call) =>
        `${capitalized(callInWords(call))} has run for ${timeInWords(call.ageMs)} and asks nothing of the client${unsettled ? ', unless it waits for the roots' : ': its handler is at work'}`,
    );
}

function roots({ roots: { status, problem } }: SessionDump): string[] {
  return status === 'failed' ? [`The roots are not known: ${nameInWords(problem)}`] : [];
}

function bounded(causes: readonly string[]): string[] {
  if (causes.length <= maxOfAKind) return [...causes];
  return [...causes.slice(0, maxOfAKind), `… and ${causes.length - maxOfAKind} more like these`];
}

/** A method's name stays as it is. */
function capitalized(text: string): string {
  return text.startsWith('the ') ? `The ${text.slice(4)}` : text;
}
