/**
 * Environment of a connection: its clock, channels, jitter, host calls and answers. The plain
 * environment passes everything through; a recorder records it, and a replay substitutes the
 * recording.
 */
import type { Clock } from '../../../../src/actors/clock.ts';
import type { RequestHandler } from '../../../../src/actors/request-context.ts';
import type { Report } from '../../../../src/actors/facts.ts';
import type { Transitions } from '../../../../src/actors/transitions.ts';
import type { Answers } from '../asked/answers.ts';
import type { ChannelKind } from '../channel/channel-kind.ts';
import type { ConnectionSetup } from './connection-setup.ts';

/** Connection methods that a host calls. */
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

/** Connection methods that a host calls, by name. */
export type HostCalls = {
  readonly [method in HostMethod]: (...args: never[]) => Promise<unknown>;
};

/**
 * Layer between one connection and everything outside. Each method returns its argument or a
 * replacement.
 */
export interface ConnectionEnvironment {
  /** Clock of the connection's own actors; channels use the host's. Called first. */
  clock(hostClock: Clock): Clock;
  /** Called once, before any part of the connection exists. Returns the setup to start with. */
  begin(setup: ConnectionSetup, report: Report): ConnectionSetup;
  /** Called once, before the first event. */
  observe(transitions: Pick<Transitions, 'listen'>): void;
  channel(kind: ChannelKind): ChannelKind;
  /** Random source, from 0 to less than 1. */
  random(random: () => number): () => number;
  /** Handlers of the server's requests, by method. */
  handlers(handlers: ReadonlyMap<string, RequestHandler>): ReadonlyMap<string, RequestHandler>;
  /** Answers to input requests in call results. */
  answers(answers: Pick<Answers, 'answer'>): Pick<Answers, 'answer'>;
  /** Replaces the host's methods in place. Called once. */
  calls(connection: HostCalls): void;
  /** The host starts watching the tool list. */
  watch<T>(watch: () => T): T;
  /** Starts the connection's actor. */
  start(start: () => void): void;
  /** The connection is closed and cleaned up. */
  closed(kind: 'closed' | 'failure'): void;
}

/** Shared environment of connections that are neither recorded nor replayed. */
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
