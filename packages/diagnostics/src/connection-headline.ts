/** Headline of a connection: its state in one sentence. */
import type { ConnectionDump } from './connection-dump.ts';
import type { Headline } from './format.ts';
import { isLongLived } from './peer-dump.ts';
import type { CallDump, PendingDump } from './peer-dump.ts';

/** Headline by priority: end, missing connection, question of the server, pending request. */
export function connectionHeadline(dump: ConnectionDump): Headline {
  const [first = ''] = dump.state.split('.');
  switch (first) {
    case 'closed':
    case 'ended':
      return { mood: 'ended', sentence: 'The connection is closed.' };
    case 'idle':
      return { mood: 'idle', sentence: `${dump.name} is not started. Its first use starts it.` };
    case 'disabled':
      return { mood: 'idle', sentence: `The configuration says that ${dump.name} is disabled.` };
    case 'stopping':
      return { mood: 'ended', sentence: `What is left of ${dump.name} is being ended.` };
    case 'failed':
      if (dump.launches === 0 && dump.loss) {
        return { ...waiting(dump, `${dump.name} was not started${why(dump)}`), mood: 'failed' };
      }
      return {
        ...waiting(
          dump,
          `The connection has failed, and is made again only if the host asks${why(dump)}`,
        ),
        mood: 'failed',
      };
    case 'lost':
      return waiting(
        dump,
        `The connection is lost, and what is left of it is being ended${why(dump)}`,
      );
    case 'backoff':
      return backoff(dump);
    case 'ready':
      return (
        asked(dump) ??
        unanswered(dump) ?? { mood: 'idle', sentence: 'Nothing is pending. The host may ask.' }
      );
    default:
      return waiting(dump, `${describeConnecting(dump)}.`);
  }
}

function waiting({ sinceMs: ageMs, leftMs }: ConnectionDump, sentence: string): Headline {
  return { mood: 'waiting', sentence, ageMs, ...(leftMs === undefined ? {} : { leftMs }) };
}

function why({ loss }: ConnectionDump): string {
  return loss ? `: ${loss.message.replace(/\.$/, '')}.` : '.';
}

function backoff(dump: ConnectionDump): Headline {
  const { sinceMs, delayMs = 0, attempt } = dump;
  const sentence = `Waiting before attempt ${attempt + 1} to connect${why(dump)}`;
  const leftMs = Math.max(0, delayMs - sinceMs);
  return { mood: 'waiting', sentence, ageMs: sinceMs, leftMs, ends: 'tried again' };
}

/** Sentences by the innermost state of `connecting`. */
function describeConnecting({ name, state }: ConnectionDump): string {
  switch (state.split('.').at(-1)) {
    case 'clearing':
      return `What is left of the last connection to ${name} is being ended`;
    case 'opening':
      return `Waiting for ${name} to be there`;
    case 'probing':
      return `Waiting for ${name} to say which era it is of: server/discover`;
    case 'greeting':
      return `Waiting for ${name} to answer initialize`;
    case 'reconsidering':
      return `${name} has refused initialize. Waiting for it to answer server/discover`;
    case 'authorizing':
      return `Waiting for a login to ${name}`;
    default:
      return `Connecting to ${name}`;
  }
}

/** Headline for a question of the server, which may block it until the host answers. */
function asked({ name, calls }: ConnectionDump): Headline | undefined {
  const oldest = oldestOf(calls);
  if (!oldest) return undefined;
  const what = calls.length === 1 ? oldest.method : `${calls.length} requests: ${methodsOf(calls)}`;
  const sentence = `${name} waits for the host to answer ${what}.`;
  return { mood: 'working', sentence, ageMs: oldest.ageMs };
}

function unanswered({ name, pending }: ConnectionDump): Headline | undefined {
  const due = pending.filter((request) => !isLongLived(request));
  const oldest = oldestOf(due);
  if (!oldest) return undefined;
  const { ageMs, leftMs } = oldest;
  const what = due.length === 1 ? oldest.method : `${due.length} requests: ${methodsOf(due)}`;
  return { mood: 'waiting', sentence: `Waiting for ${name} to answer ${what}.`, ageMs, leftMs };
}

function methodsOf(list: readonly { readonly method: string }[]): string {
  return [...new Set(list.map(({ method }) => method))].join(', ');
}

function oldestOf<T extends CallDump | PendingDump>(list: readonly T[]): T | undefined {
  return list.toSorted((a, b) => b.ageMs - a.ageMs)[0];
}
