/** The first thing one sees: in which state the session is, why it waits, and for whom. */
import { headlineOf } from '../../diagnosis/headline.ts';
import { byId, setAttribute, setText } from './dom.ts';
import { duration } from './durations.ts';
import type { ShownSession } from './model.ts';

/** @param elapsedMs since the dump was made */
export function showHeadline({ dump, closed }: ShownSession, elapsedMs: number): void {
  const why = headlineOf(dump);
  const sentence = closed === undefined ? why.sentence : `The session is over: ${closed}.`;
  setAttribute(byId('headline'), 'data-mood', why.mood);
  setText(byId('state'), dump.state);
  setText(byId('why'), sentence);
  // Said once, and not again with every tenth of a second that is waited.
  setText(byId('announcement'), `${dump.state}. ${sentence}`);
  const since = why.ageMs === undefined ? '' : `${duration(why.ageMs + elapsedMs)} so far`;
  const left = why.leftMs === undefined ? '' : `, given up in ${duration(why.leftMs - elapsedMs)}`;
  setText(byId('since'), closed === undefined ? since + left : '');
  setText(byId('facts'), factsOf({ dump, closed }, elapsedMs).join(' · '));
}

function factsOf(
  { dump, closed }: Pick<ShownSession, 'dump' | 'closed'>,
  elapsedMs: number,
): string[] {
  const { client, ageMs, quietMs } = dump;
  const who = client
    ? [`${client.name} ${client.version}`, `MCP ${client.revision}`, capabilities(client)]
    : ['client unknown'];
  if (closed !== undefined) return who;
  return [
    ...who,
    `open for ${duration(ageMs + elapsedMs)}`,
    `last heard ${duration(quietMs + elapsedMs)} ago`,
  ];
}

function capabilities({ capabilities }: NonNullable<ShownSession['dump']['client']>): string {
  const names = Object.keys(capabilities);
  return names.length > 0 ? `can ${names.join(', ')}` : 'declares no capability';
}
