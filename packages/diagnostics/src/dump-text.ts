/** Text form of a session's dump: causes of a stall, and everything in flight. */
import { Method } from '../../../src/protocol/methods.ts';
import { printableName } from '../../../src/protocol/printable.ts';
import {
  formatCount,
  deferredRoots,
  formatAbandoned,
  formatLastHeard,
  formatBytes,
  formatDuration,
  formatWait,
} from './format.ts';
import { isLongLived } from './peer-dump.ts';
import type { CallDump, Level, PendingDump } from './peer-dump.ts';
import type { SessionDump, TaskDump } from './session-dump.ts';
import { describeHttpCause, httpLines, streamRow } from './http-text.ts';
import { causesOf, isShared } from './causes.ts';
import type { Cause, Question } from './causes.ts';

/** Maximum number of listed causes of one kind, which are often alike. */
const maxOfAKind = 20;

/**
 * Describes what a session waits for and since when: one sentence per cause, without a full stop, most immediate first.
 *
 * @returns at least one sentence; for an idle session, that it waits for the client
 */
export function explainDump(dump: SessionDump): readonly string[] {
  const ofKind = new Map<Cause['kind'], Cause[]>();
  for (const cause of causesOf(dump)) {
    const alike = ofKind.get(cause.kind);
    if (alike) alike.push(cause);
    else ofKind.set(cause.kind, [cause]);
  }
  if (ofKind.size === 0) {
    if (isShared(dump)) return ['Nothing is pending: any client may ask'];
    return [
      `Nothing is pending: the session waits for the client, last heard ${formatDuration(dump.quietMs)} ago`,
    ];
  }
  return [...ofKind.values()].flatMap((alike) => {
    const said = alike.slice(0, maxOfAKind).map((cause) => sentenceOf(cause, dump));
    const rest = alike.length - said.length;
    return rest > 0 ? [...said, `… and ${rest} more like these`] : said;
  });
}

function sentenceOf(cause: Cause, { queues, tasks }: SessionDump): string {
  switch (cause.kind) {
    case 'initialize-missing':
      return `The client has not sent initialize, ${formatDuration(cause.ageMs)} after the start`;
    case 'initialized-missing':
      return `The client has not sent notifications/initialized, last heard ${formatDuration(cause.ageMs)} ago; until it has, nothing may be asked of it`;
    case 'settling':
    case 'aborting':
      return `The session is ending: ${formatCount(cause.calls, 'request')} may still end by ${cause.calls === 1 ? 'itself' : 'themselves'}, then it closes`;
    case 'flushing':
      return 'The session is ending: it waits for the client to read the rest of the output';
    case 'closed':
      return 'The session has ended';
    case 'output-blocked':
      return `The client does not read: ${formatBytes(cause.bytes)} wait for it, and no request is started until it has read them all`;
    case 'output-queued':
      return `${formatBytes(cause.bytes)} wait until the client reads on`;
    case 'stream-unread':
    case 'stream-cut':
    case 'push-waiting':
      return describeHttpCause(cause);
    case 'question':
      return describeQuestion(cause);
    case 'suspended': {
      const { subject, ageMs, leftMs } = cause;
      return `${capitalized(describeCall(subject))} is suspended${inState(subject)}: it asked ${describeAsked(subject)} ${formatDuration(ageMs)} ago, and waits for the retry, given up in ${formatDuration(leftMs)}`;
    }
    case 'task-input':
      return `${capitalized(describeCall(cause.subject))} waits for the client to look at the task and answer ${formatCount(cause.subject.openQuestions, 'question')}`;
    case 'running-full': {
      const { subject: longest, waiting } = cause;
      const example = longest
        ? `; the longest, ${describeCall(longest)}, for ${formatDuration(longest.ageMs)}`
        : '';
      const { count, max, maxOfEach } = queues.running;
      const each = maxOfEach === undefined ? '' : `, of each client ${maxOfEach} at most`;
      return `${count} of ${max} requests run${each}${example}; ${waiting} ${waiting === 1 ? 'waits' : 'wait'} for a place`;
    }
    case 'pending-full':
      return `${queues.pending.count} of ${queues.pending.max} requests to the client are pending: no more are sent`;
    case 'tasks-full':
      return `${queues.tasks.count} of ${queues.tasks.max} tasks run: no more are begun`;
    case 'task':
      return `${describeCall(cause.subject)} has waited ${formatDuration(cause.ageMs)} for the task to end`;
    case 'roots':
      return `${capitalized(describeCall(cause.subject))} has run for ${formatDuration(cause.ageMs)} and waits until the client's roots are known`;
    case 'work': {
      const { taskId } = cause.subject;
      const waits = formatWait(tasks.find((task) => task.taskId === taskId) ?? {});
      const does = waits === undefined ? 'its handler is at work' : `it waits for ${waits}`;
      return `${capitalized(describeCall(cause.subject))} has run for ${formatDuration(cause.ageMs)} and asks nothing of the client: ${does}`;
    }
    case 'roots-failed':
      return `The roots are not known: ${printableName(cause.problem ?? 'the client gave no answer')}`;
  }
}

/** Client and questions of a suspended call. */
function describeAsked({ openQuestions, questions = [], client }: CallDump): string {
  const who = client ? printableName(client.name) : 'the client';
  const what =
    questions.length === 0 ? '' : ` (${questions.map((each) => printableName(each)).join(', ')})`;
  return `${who} ${formatCount(openQuestions, 'question')}${what}`;
}

function describeQuestion({
  subject: { method, state },
  askedBy,
  ageMs,
  leftMs,
}: Question): string {
  const name = printableName(method);
  const left = `given up in ${formatDuration(leftMs)}`;
  if (state === 'held') {
    const who = askedBy ? capitalized(describeCall(askedBy)) : 'The session';
    return `${who} has ${name} to ask, held for ${formatDuration(ageMs)} until the client sends notifications/initialized, ${left}`;
  }
  const when = `asked ${formatDuration(ageMs)} ago, ${left}`;
  if (askedBy) {
    return `${capitalized(describeCall(askedBy))} waits for the client's answer to ${name}, ${when}`;
  }
  return `The client has not answered ${name}, ${when}${purposeOf(method)}`;
}

function purposeOf(method: string): string {
  if (method === Method.rootsList) return '; what needs the roots waits for it';
  return method === Method.ping ? '; it is asked whether it is there' : '';
}

/** Formats a request of the client, or its task: `tools/call 7 (search)`. */
function describeCall({ id, method, subject, taskId }: CallDump): string {
  const name = `${printableName(method)} ${printableName(String(id))}`;
  const call = subject === undefined ? name : `${name} (${printableName(subject)})`;
  return taskId === undefined ? call : `the task ${printableName(taskId)}, begun by ${call},`;
}

/** Capitalizes a sentence, unless it begins with a method name. */
function capitalized(text: string): string {
  return text.startsWith('the ') ? `The ${text.slice(4)}` : text;
}

/** Maximum number of listed items. The JSON form has all. */
const maxRows = 50;

/**
 * Formats a dump for people: client, causes, requests in flight both ways, roots, tasks and actors. Names and ids chosen by
 * the client are escaped for terminals.
 *
 * @returns several lines, each with a line feed
 */
export function describeDump(dump: SessionDump): string {
  const { id, state, ageMs, queues } = dump;
  const { running, waiting, pending, outboundBytes, tasks, inFlightBytes, retainedBytes } = queues;
  return [
    `Session ${id}: ${state}, started ${formatDuration(ageMs)} ago, client ${formatLastHeard(dump)}`,
    `Client: ${describeClient(dump)}`,
    ...httpLines(dump),
    ...rows(dump.http?.streams ?? [], streamRow),
    'Why nothing goes on:',
    ...explainDump(dump).map((cause) => `  - ${cause}`),
    `Requests of the client: ${running.count} of ${running.max} run, ${waiting.count} of ${waiting.max} wait`,
    ...rows(dump.calls, callRow),
    `Requests to the client: ${pending.count} of ${pending.max} pending`,
    ...rows(dump.pending, pendingRow),
    `Output: ${formatLevel(outboundBytes)} wait to be read`,
    `Roots: ${describeRoots(dump)}`,
    ...rows(dump.roots.list, ({ uri, problem }) =>
      problem ? `${printableName(uri)}: ${printableName(problem.message)}` : printableName(uri),
    ),
    `Tasks: ${tasks.count} of ${tasks.max} run, ${dump.tasks.length} are kept${describeDurable(dump)}`,
    ...rows(dump.tasks, taskRow),
    ...serverLines(dump),
    `Memory: ${formatLevel(inFlightBytes)} are requests in flight, ${formatLevel(retainedBytes)} outlive their requests`,
    `Actors: ${dump.actors.map(({ id: name, status, state: at }) => `${name} ${at ?? status}`).join(', ')}`,
    '',
  ].join('\n');
}

function describeDurable({ durable }: SessionDump): string {
  if (!durable) return '';
  const { lease, givenUp } = durable;
  const elsewhere = givenUp > 0 ? `, ${formatAbandoned(givenUp)}` : '';
  return `${elsewhere}; their store knows this process as ${lease.slice(0, 8)}`;
}

function taskRow(task: TaskDump): string {
  const { taskId, status, ageMs, lastStep, waiters, isCall = false, restarts = 0 } = task;
  const waits = formatWait(task);
  return [
    `${isCall ? 'call ' : ''}${printableName(taskId)} ${status}, begun ${formatDuration(ageMs)} ago`,
    ...(restarts > 0 ? [`its process has ended ${restarts} times`] : []),
    ...(lastStep === undefined ? [] : [`last ${printableName(lastStep)}`]),
    ...(waits === undefined ? [] : [`waits for ${printableName(waits, 500)}`]),
    ...(waiters > 0 ? [`${waiters} wait for it`] : []),
  ].join(', ');
}

/** Availability of the servers behind a bridge. */
function serverLines({ servers = [] }: SessionDump): readonly string[] {
  if (servers.length === 0) return [];
  const bad = servers.filter(({ state }) => state !== 'ready');
  return [
    `Servers: ${servers.length - bad.length} of ${servers.length} can be used`,
    ...rows(bad, ({ name, state, since, why }) =>
      [
        `${printableName(name)}: ${state}`,
        since === undefined ? '' : ` since ${since}`,
        why === undefined ? '' : `: ${printableName(why, 500)}`,
      ].join(''),
    ),
  ];
}

function formatLevel({ count, max }: Level): string {
  return `${formatBytes(count)} of ${formatBytes(max)}`;
}

function describeClient({ client, tags, http }: SessionDump): string {
  if (tags.includes('stateless') || isShared({ http }))
    return 'each request says who its client is';
  if (!client) return 'not introduced yet';
  const { name, version, revision, capabilities } = client;
  const able =
    Object.keys(capabilities)
      .map((each) => printableName(each))
      .join(', ') || 'nothing';
  return `${printableName(name)} ${printableName(version)}, revision ${revision}, declares ${able}`;
}

function describeRoots({ roots, tags, http }: SessionDump): string {
  if (tags.includes('stateless') || isShared({ http }))
    return 'asked for by each call that needs them';
  const { state, tags: rootsTags, status, settled, list } = roots;
  const when = rootsTags.includes('deferred') ? `; ${deferredRoots}` : '';
  if (status === undefined) return when === '' ? state : `not known${when}`;
  return `${state}, ${status}${settled === false ? ' (not settled)' : ''}, ${list.length} in the list${when}`;
}

/** State of a machine tool. */
function inState({ machine }: CallDump): string {
  return machine ? ` in the state ${printableName(machine.state)}` : '';
}

function callRow(call: CallDump): string {
  const questions = call.openQuestions === 0 ? '' : `, ${call.openQuestions} asked of the client`;
  const state = isLongLived(call) && call.state === 'parked' ? 'listens' : call.state;
  const from = call.client ? ` of ${printableName(call.client.name)}` : '';
  return `${describeCall(call).replace(/,$/, '')}${from}: ${state}${inState(call)}, ${formatDuration(call.ageMs)}${questions}`;
}

function pendingRow({ id, method, state, ageMs, leftMs, relatedTo, taskId }: PendingDump): string {
  const whose = taskId ?? relatedTo;
  const owner = whose === undefined ? '' : `, for ${printableName(String(whose))}`;
  return `${id} ${printableName(method)}: ${state}, ${formatDuration(ageMs)}, ${formatDuration(leftMs)} left${owner}`;
}

function rows<T>(list: readonly T[], row: (item: T) => string): string[] {
  const shown = list.slice(0, maxRows).map((item) => `  ${row(item)}`);
  return list.length > maxRows ? [...shown, `  … and ${list.length - maxRows} more`] : shown;
}
