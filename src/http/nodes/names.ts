/**
 * Names that other nodes read: of nodes, of streams, of the events on them, and of our requests.
 * Each begins with the node that has made it, so no two nodes ever make the same one.
 */

const node = '[A-Za-z0-9]{1,64}';
/** What comes after the second dot is the endpoint's matter. */
const stream = `${node}\\.[1-9][0-9]{0,15}(?:\\.[\\w%.!~*'()-]*)?`;
const streamPattern = new RegExp(`^${stream}$`);
const eventPattern = new RegExp(`^(${stream})-(0|[1-9][0-9]{0,14})$`);
const askerPattern = new RegExp(`^s-[1-9][0-9]*-(${node})\\.`);

/** A place in a stream. */
export interface EventPlace {
  /** The name of the stream. */
  readonly stream: string;
  /** The stream's events are 1, 2, 3 and so on; 0 is before the first one. */
  readonly number: number;
}

/**
 * A name for a node that starts now. It cannot be guessed, and no node had it before: what was meant
 * for a process that has died never reaches the one that takes its place.
 */
export function newNodeName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The name of a node's n-th SSE stream, counted from 1 over all of its sessions. */
export function streamName(nodeName: string, serial: number): string {
  return `${nodeName}.${serial}`;
}

/** The node that writes a stream. */
export function writerOf(stream: string): string {
  return stream.slice(0, stream.indexOf('.'));
}

/** The `id` of an SSE event. */
export function eventId({ stream, number }: EventPlace): string {
  return `${stream}-${number}`;
}

/** Reads a `Last-Event-ID`; undefined if the text has another form. */
export function readEventId(text: string): EventPlace | undefined {
  const match = eventPattern.exec(text);
  const [, stream, number] = match ?? [];
  return stream === undefined ? undefined : { stream, number: Number(number) };
}

/** Whether this may be the name of a stream. */
export function isStreamName(text: string): boolean {
  return streamPattern.test(text);
}

/**
 * The random end of the ids of our requests, with the node in it: `s-<n>-<node>.<uuid>`. It is a
 * session's `randomId`.
 */
export function requestIdEnd(nodeName: string): string {
  return `${nodeName}.${crypto.randomUUID()}`;
}

/** The node that has sent the request with this id; undefined if the id has another form. */
export function askerOf(id: unknown): string | undefined {
  return typeof id === 'string' ? askerPattern.exec(id)?.[1] : undefined;
}
