/** Headlines of sessions and connections: what they wait for or work on. */
import { formatCount } from './format.ts';
import type { Headline } from './format.ts';
import { isLongLived } from './peer-dump.ts';
import type { CallDump } from './peer-dump.ts';
import type { ConnectionDump } from './connection-dump.ts';
import { connectionHeadline } from './connection-headline.ts';
import type { SessionDump } from './session-dump.ts';
import { causesOf, isShared } from './causes.ts';
import type { Cause, HttpCause, Question, Suspension } from './causes.ts';

/**
 * Headline of a session or connection, from its dump. Uses the most important cause: end, blockage, question to the client,
 * work.
 */
export function headlineOf(dump: SessionDump | ConnectionDump): Headline {
  if (dump.side === 'host') return connectionHeadline(dump);
  const causes = causesOf(dump);
  const first = <K extends Cause['kind']>(...kinds: readonly K[]) =>
    causes.find((cause): cause is Extract<Cause, { readonly kind: K }> =>
      kinds.some((kind) => kind === cause.kind),
    );
  const end = first('closed', 'settling', 'aborting', 'flushing');
  if (end) return { mood: 'ended', sentence: describeEnd(end) };
  if (first('output-blocked')) {
    const sentence = `${capitalizedWho(dump)} does not read: no request is started until it has read what waits for it.`;
    return { mood: 'waiting', sentence };
  }
  const start = first('initialize-missing');
  if (start) {
    const sentence = 'Waiting for the client to say who it is: no initialize has come yet.';
    return { mood: 'waiting', sentence, ageMs: start.ageMs };
  }
  if (first('initialized-missing')) {
    const sentence = 'Waiting for the client to say that it is ready: notifications/initialized.';
    return { mood: 'waiting', sentence };
  }
  const connection = first('stream-unread', 'stream-cut');
  if (connection) return describeConnection(connection, dump);
  const questions = causes.filter((cause) => cause.kind === 'question');
  const suspended = causes.filter((cause) => cause.kind === 'suspended');
  return (
    rootsQuestion(questions, dump) ??
    question(questions, dump) ??
    retry(suspended, dump) ??
    taskInput(first('task-input')) ??
    work(dump) ??
    push(first('push-waiting'), dump) ??
    idle(dump)
  );
}

function describeEnd(
  cause: Extract<Cause, { readonly kind: 'closed' | 'settling' | 'aborting' | 'flushing' }>,
): string {
  switch (cause.kind) {
    case 'closed':
      return 'The session is over.';
    case 'settling':
      return `The session ends: ${formatCount(cause.calls, 'call')} may still finish.`;
    case 'aborting':
      return `The session ends: ${formatCount(cause.calls, 'call')} are cancelled and clean up.`;
    case 'flushing':
      return 'The session ends: what was said last is being written.';
  }
}

function describeConnection(
  { kind, ageMs }: Extract<HttpCause, { readonly kind: 'stream-unread' | 'stream-cut' }>,
  dump: SessionDump,
): Headline {
  const sentence =
    kind === 'stream-cut'
      ? `Waiting for ${who(dump)} to come back to a stream that was cut.`
      : `Waiting for ${who(dump)} to read a stream.`;
  return { mood: 'waiting', sentence, ageMs };
}

function push(
  cause: Extract<HttpCause, { readonly kind: 'push-waiting' }> | undefined,
  dump: SessionDump,
): Headline | undefined {
  if (!cause) return undefined;
  const sentence = `Waiting for ${who(dump)} to open a stream: ${formatCount(cause.count, 'message')} ${cause.count === 1 ? 'waits' : 'wait'} for it.`;
  return { mood: 'waiting', sentence };
}

function rootsQuestion(questions: readonly Question[], dump: SessionDump): Headline | undefined {
  const query = questions.find(({ subject }) => subject.method === 'roots/list');
  if (!query) return undefined;
  const next = dump.roots.tags.includes('overtaken')
    ? ' Its list has changed since it was asked, so it will be asked again.'
    : '';
  return waitingFor(query, `Waiting for ${who(dump)} to answer roots/list.${next}`);
}

function question(questions: readonly Question[], dump: SessionDump): Headline | undefined {
  const oldest = oldestOf(questions);
  if (!oldest) return undefined;
  const { count } = dump.queues.pending;
  const kinds = [...new Set(questions.map(({ subject }) => subject.method))];
  const what = count === 1 ? oldest.subject.method : `${count} requests: ${kinds.join(', ')}`;
  return waitingFor(oldest, `Waiting for ${who(dump)} to answer ${what}.`);
}

function retry(suspended: readonly Suspension[], dump: SessionDump): Headline | undefined {
  const oldest = oldestOf(suspended);
  if (!oldest) return undefined;
  const { subject } = oldest;
  const [first, ...others] = subject.questions ?? [];
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  const asked = first === undefined ? '' : `: ${first}${more}`;
  const name = subject.client?.name ?? who(dump);
  return waitingFor(
    oldest,
    suspended.length === 1
      ? `Waiting for ${name} to answer what ${nameOf(subject)} has asked, in a retry${asked}.`
      : `Waiting for ${name} and others to answer what ${suspended.length} calls have asked, in retries.`,
  );
}

function taskInput(
  cause: Extract<Cause, { readonly kind: 'task-input' }> | undefined,
): Headline | undefined {
  if (!cause) return undefined;
  const sentence = `Waiting for the client to answer what the task of ${nameOf(cause.subject)} has asked.`;
  return { mood: 'waiting', sentence, ageMs: cause.ageMs };
}

function waitingFor({ ageMs, leftMs }: Question | Suspension, sentence: string): Headline {
  return { mood: 'waiting', sentence, ageMs, leftMs };
}

function work({ queues, ...dump }: SessionDump): Headline | undefined {
  const { running, waiting } = queues;
  const calls = dump.calls.filter((call) => !isLongLived(call));
  const oldest = oldestOf(calls.filter(({ state }) => state !== 'waiting')) ?? oldestOf(calls);
  if (!oldest) return undefined;
  const { ageMs } = oldest;
  const name = nameOf(oldest);
  const others = waiting.count > 0 ? `, ${waiting.count} wait for their turn` : '';
  const sentence =
    calls.length === 1
      ? `Working on ${name}.`
      : `Working on ${formatCount(running.count, 'request')}${others}; longest on ${name}.`;
  return { mood: 'working', sentence, ageMs };
}

function nameOf({ method, subject }: CallDump): string {
  return subject === undefined ? method : `${method} ${subject}`;
}

function idle(dump: SessionDump): Headline {
  const asker = isShared(dump) ? 'Any client' : capitalizedWho(dump);
  return { mood: 'idle', sentence: `Nothing is pending. ${asker} may ask.` };
}

function who({ client }: SessionDump): string {
  return client ? client.name : 'the client';
}

function capitalizedWho({ client }: SessionDump): string {
  return client ? `The client ${client.name}` : 'The client';
}

function oldestOf<T extends { readonly ageMs: number }>(list: readonly T[]): T | undefined {
  return list.reduce<T | undefined>(
    (oldest, each) => (oldest && oldest.ageMs >= each.ageMs ? oldest : each),
    undefined,
  );
}
