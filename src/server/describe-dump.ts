/** A dump as a text for people. */
import { callInWords, explainDump } from './explain-dump.ts';
import { nameInWords, sizeInWords, timeInWords } from './plain-words.ts';
import type { CallDump, PendingDump, SessionDump } from './session-dump.ts';

/** Longer lists are cut: the JSON form has them whole. */
const maxRows = 50;

/**
 * Writes a dump for a person to read: who is there, why nothing goes on, what is in flight both ways, the roots, the tasks, the actors.
 * What the client chose (names, ids) is made harmless for a terminal.
 *
 * @returns several lines, each with a line feed
 */
export function describeDump(dump: SessionDump): string {
  const { id, state, ageMs, quietMs, queues } = dump;
  const { running, waiting, pending, outboundBytes, tasks } = queues;
  return [
    `Session ${id}: ${state}, started ${timeInWords(ageMs)} ago, client last heard ${timeInWords(quietMs)} ago`,
    `Client: ${clientInWords(dump)}`,
    'Why nothing goes on:',
    ...explainDump(dump).map((cause) => `  - ${cause}`),
    `Requests of the client: ${running.count} of ${running.max} run, ${waiting.count} of ${waiting.max} wait`,
    ...rows(dump.calls, callRow),
    `Requests to the client: ${pending.count} of ${pending.max} pending`,
    ...rows(dump.pending, pendingRow),
    `Output: ${sizeInWords(outboundBytes.count)} of ${sizeInWords(outboundBytes.max)} wait to be read`,
    `Roots: ${rootsInWords(dump)}`,
    ...rows(dump.roots.list, ({ uri, problem }) =>
      problem ? `${nameInWords(uri)}: ${nameInWords(problem.message)}` : nameInWords(uri),
    ),
    `Tasks: ${tasks.count} of ${tasks.max} run, ${dump.tasks.length} are kept`,
    ...rows(dump.tasks, ({ taskId, status, createdAt, waiters }) =>
      [
        `${nameInWords(taskId)} ${status}, since ${createdAt}`,
        waiters > 0 ? `, ${waiters} wait for it` : '',
      ].join(''),
    ),
    `Actors: ${dump.actors.map(({ id: name, status, state: at }) => `${name} ${at ?? status}`).join(', ')}`,
    '',
  ].join('\n');
}

function clientInWords({ client }: SessionDump): string {
  if (!client) return 'not introduced yet';
  const { name, version, revision, capabilities } = client;
  const able = Object.keys(capabilities).map(nameInWords).join(', ') || 'nothing';
  return `${nameInWords(name)} ${nameInWords(version)}, revision ${revision}, declares ${able}`;
}

function rootsInWords({ roots: { state, status, settled, list } }: SessionDump): string {
  if (status === undefined) return state;
  return `${state}, ${status}${settled === false ? ' (not settled)' : ''}, ${list.length} in the list`;
}

function callRow(call: CallDump): string {
  const questions = call.openQuestions === 0 ? '' : `, ${call.openQuestions} asked of the client`;
  return `${callInWords(call).replace(/,$/, '')}: ${call.state}, ${timeInWords(call.ageMs)}${questions}`;
}

function pendingRow({ id, method, state, ageMs, leftMs, relatedTo, taskId }: PendingDump): string {
  const whose = taskId ?? relatedTo;
  const owner = whose === undefined ? '' : `, for ${nameInWords(whose)}`;
  return `${id} ${nameInWords(method)}: ${state}, ${timeInWords(ageMs)}, ${timeInWords(leftMs)} left${owner}`;
}

function rows<T>(list: readonly T[], row: (item: T) => string): string[] {
  const shown = list.slice(0, maxRows).map((item) => `  ${row(item)}`);
  return list.length > maxRows ? [...shown, `  … and ${list.length - maxRows} more`] : shown;
}
