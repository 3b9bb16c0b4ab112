/** Why a session does what it does at present, and whom it waits for: in a sentence, from its dump. */
import type { CallDump, PendingDump, SessionDump } from '../server/session-dump.ts';

export interface Why {
  /** `waiting`: for somebody else. `working`: handlers run. `idle`: nothing is to be done. `ended`: it is over, or will be. */
  readonly mood: 'waiting' | 'working' | 'idle' | 'ended';
  /** A sentence without figures that grow, such as ages. */
  readonly sentence: string;
  /** What has been waited for longest, where there is such a thing: since when, and how long it still may take, milliseconds. */
  readonly ageMs?: number;
  readonly leftMs?: number;
}

type Asked = SessionDump & { readonly omitted?: { readonly [list: string]: number } };

/** The first of these that holds is the reason. */
export function whyOf(dump: Asked): Why {
  return (
    ended(dump) ??
    unread(dump) ??
    handshake(dump) ??
    askedForRoots(dump) ??
    asked(dump) ??
    working(dump) ?? { mood: 'idle', sentence: `Nothing is pending. ${who(dump)} may ask.` }
  );
}

function who({ client }: SessionDump): string {
  return client ? `The client ${client.name}` : 'The client';
}

function ended({ state, calls }: Asked): Why | undefined {
  if (state === 'closed') return { mood: 'ended', sentence: 'The session is over.' };
  const reasons: { readonly [state: string]: string } = {
    'draining.settling': `The session ends: ${amount(calls.length, 'call')} may still finish.`,
    'draining.aborting': `The session ends: ${amount(calls.length, 'call')} are cancelled and clean up.`,
    'draining.flushing': 'The session ends: what was said last is being written.',
  };
  const sentence = reasons[state];
  return sentence === undefined ? undefined : { mood: 'ended', sentence };
}

function unread(dump: Asked): Why | undefined {
  if (!dump.queues.holds.includes('output')) return undefined;
  const sentence = `${who(dump)} does not read: no request is started until it has read what waits for it.`;
  return { mood: 'waiting', sentence };
}

function handshake({ state, ageMs }: Asked): Why | undefined {
  if (state === 'uninitialized') {
    const sentence = 'Waiting for the client to say who it is: no initialize has come yet.';
    return { mood: 'waiting', sentence, ageMs };
  }
  if (state === 'negotiated') {
    const sentence = 'Waiting for the client to say that it is ready: notifications/initialized.';
    return { mood: 'waiting', sentence };
  }
  return undefined;
}

function askedForRoots(dump: Asked): Why | undefined {
  const query = dump.pending.find(({ method }) => method === 'roots/list');
  if (!query) return undefined;
  const isStale = dump.roots.state === 'querying.stale';
  const next = isStale
    ? ' Its list has changed since it was asked, so it will be asked again.'
    : '';
  const sentence = `Waiting for ${whom(dump)} to answer roots/list.${next}`;
  return { mood: 'waiting', sentence, ageMs: query.ageMs, leftMs: query.leftMs };
}

function asked(dump: Asked): Why | undefined {
  const oldest = oldestOf(dump.pending);
  if (!oldest) return undefined;
  const { count } = dump.queues.pending;
  const kinds = [...new Set(dump.pending.map(({ method }) => method))];
  const what = count === 1 ? oldest.method : `${count} requests: ${kinds.join(', ')}`;
  const sentence = `Waiting for ${whom(dump)} to answer ${what}.`;
  return { mood: 'waiting', sentence, ageMs: oldest.ageMs, leftMs: oldest.leftMs };
}

function working({ calls, queues }: Asked): Why | undefined {
  const oldest = oldestOf(calls.filter(({ state }) => state !== 'waiting')) ?? oldestOf(calls);
  if (!oldest) return undefined;
  const { ageMs } = oldest;
  if (queues.holds.includes('preparation')) {
    return { mood: 'working', sentence: 'A handler gets ready; calls wait for it.', ageMs };
  }
  const { subject } = oldest;
  const name = subject === undefined ? oldest.method : `${oldest.method} ${subject}`;
  const waiting = queues.waiting.count > 0 ? `, ${queues.waiting.count} wait for their turn` : '';
  const sentence =
    calls.length === 1
      ? `Working on ${name}.`
      : `Working on ${amount(queues.running.count, 'request')}${waiting}; longest on ${name}.`;
  return { mood: 'working', sentence, ageMs };
}

function whom({ client }: SessionDump): string {
  return client ? client.name : 'the client';
}

function oldestOf<T extends CallDump | PendingDump>(list: readonly T[]): T | undefined {
  return list.reduce<T | undefined>(
    (oldest, each) => (oldest && oldest.ageMs >= each.ageMs ? oldest : each),
    undefined,
  );
}

function amount(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
