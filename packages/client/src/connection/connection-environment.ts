/**
 * The environment of a connection: its clock, its channels, its jitter, its host's calls and
 * answers. The plain environment passes everything on. A recorder notes what passes; a replay takes
 * it from the recording.
 */
import type { Clock } from '../../../../src/actors/clock.ts';
import type { RequestHandler } from '../../../../src/actors/exchange.ts';
import type { Report } from '../../../../src/actors/facts.ts';
import type { Transitions } from '../../../../src/actors/transitions.ts';
import type { Answers } from '../asked/answers.ts';
import type { ChannelKind } from '../channel/channel-kind.ts';
import type { ConnectionSetup } from './connection-setup.ts';

/** The methods of a connection that a host calls. */
export const hostMethods = [
  'request',
  'notify',
  'callTool',
  'callToolAsTask',
  'cancelTask',
  'listTools',
  'listResources',
  'listResourceTemplates',
  'listPrompts',
  'readResource',
  'getPrompt',
  'complete',
  'subscribe',
  'unsubscribe',
  'setLogLevel',
  'setRoots',
  'ping',
  'reconnect',
  'close',
] as const;

export type HostMethod = (typeof hostMethods)[number];

/** A connection's methods that a host calls, by name. */
export type HostCalls = {
  readonly [method in HostMethod]: (...args: never[]) => Promise<unknown>;
};

/**
 * Stands between one connection and everything outside of it. Each method passes on its argument,
 * or replaces it.
 */
export interface ConnectionEnvironment {
  /** The clock of the connection's own actors; its channels use the host's. Called first. */
  clock(hostClock: Clock): Clock;
  /** Called once, before anything of the connection is made. Returns the setup to start with. */
  begin(setup: ConnectionSetup, report: Report): ConnectionSetup;
  /** Called once, before the first event. */
  observe(transitions: Pick<Transitions, 'listen'>): void;
  channel(kind: ChannelKind): ChannelKind;
  /** From 0 to less than 1. */
  random(random: () => number): () => number;
  /** The handlers of the server's requests, by method. */
  handlers(handlers: ReadonlyMap<string, RequestHandler>): ReadonlyMap<string, RequestHandler>;
  /** Answers the questions that a server asks in the result of a call. */
  answers(answers: Pick<Answers, 'answer'>): Pick<Answers, 'answer'>;
  /** Replaces the methods that the host calls, in place. Called once. */
  calls(connection: HostCalls): void;
  /** The host watches the list of tools. */
  watch<T>(watch: () => T): T;
  /** The connection's actor is started. */
  start(start: () => void): void;
  /** Nothing is left of the connection. */
  closed(kind: 'closed' | 'failure'): void;
}

/** The environment of connections that are neither recorded nor replayed; they share it. */
export const plainConnection: ConnectionEnvironment = {
  clock: (hostClock) => hostClock,
  begin: (setup) => setup,
  observe: () => {},
  channel: (kind) => kind,
  random: (random) => random,
  handlers: (handlers) => handlers,
  answers: (answers) => answers,
  calls: () => {},
  watch: (watch) => watch(),
  start: (start) => start(),
  closed: () => {},
};
