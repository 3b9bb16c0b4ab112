/** A session connected to a scripted peer, with recorded facts. */
import type { Fact, Report } from '../../../src/actors/facts.ts';
import type { RecordingFactName } from '../../recording/src/recording-writer.ts';
import type { FactName } from '../../../src/server/facts.ts';
import type { ListenOptions, McpServer } from '../../../src/server/create-server.ts';
import type { McpSession, Watcher } from '../../../src/server/session.ts';
import { memory } from '../../../src/transports/memory.ts';
import type { MemoryPeer } from '../../../src/transports/memory.ts';
import type { Transport } from '../../../src/transports/transport.ts';
import { awaitedClock, flush } from './clock.ts';
import { Inbox } from './inbox.ts';
import { ScriptedPeer } from './peer.ts';
import type { PeerOptions, Wire } from './peer.ts';

/** Records facts, for tests that await events without messages. */
export class RecordedFacts {
  readonly #inbox = new Inbox<Fact>();

  /** Pass this to `listen` as `report`. */
  readonly report: Report = (fact) => this.#inbox.add(fact);

  /** Every fact so far, in order. */
  get all(): readonly Fact[] {
    return this.#inbox.all;
  }

  /** Every fact of this name so far. */
  of(name: FactName | RecordingFactName): readonly Fact[] {
    return this.all.filter((fact) => fact.name === name);
  }

  /**
   * Takes the first unconsumed fact of this name, waiting if necessary.
   *
   * @throws {Error} if the session ends first
   */
  next(name: FactName | RecordingFactName): Promise<Fact> {
    return this.#inbox.take(`fact ${name}`, (fact): fact is Fact => fact.name === name);
  }

  /** Rejects every pending `next`, because no more facts will come. */
  close(reason: string): void {
    this.#inbox.close(reason);
  }
}

/** A transport and the client's end of it. */
export interface TransportPair<TWire extends Wire = Wire> {
  /** Server end. */
  readonly transport: Transport;
  /** Client end. */
  readonly peer: TWire;
}

/** A session and the scripted peer that speaks with it. */
export interface Conversation<TWire extends Wire = MemoryPeer> {
  /** The session under test. */
  readonly session: McpSession;
  /** Its scripted client. */
  readonly peer: ScriptedPeer;
  /** The client's end of the connection, for actions such as not reading or breaking the output. */
  readonly wire: TWire;
  /** Facts reported by the session. */
  readonly facts: RecordedFacts;
}

/** Options of `listen` except `report`, and the peer's declarations. */
export type ConversationOptions = Omit<ListenOptions, 'report'> & PeerOptions;

/** Starts a session in this process and connects a scripted peer to it. */
export function scriptedConversation(
  server: McpServer,
  options?: ConversationOptions,
): Conversation;
export function scriptedConversation<TWire extends Wire>(
  server: McpServer,
  options: ConversationOptions,
  connection: TransportPair<TWire>,
): Conversation<TWire>;
export function scriptedConversation(
  server: McpServer,
  options: ConversationOptions = {},
  { transport, peer: wire }: TransportPair = memory(),
): Conversation<Wire> {
  const facts = new RecordedFacts();
  const peer = new ScriptedPeer(wire, options);
  const watcher: Watcher = ({ closed }) => {
    void closed.then(async ({ kind }) => {
      // Output flushed at the end is still in transit.
      await flush();
      const reason = `the session has ended (${kind})`;
      peer.close(reason);
      facts.close(reason);
    });
  };
  // A watcher instead of `session.closed`, so that a forgotten session does not keep the process
  // alive.
  const watchers = [watcher, ...(options.watchers ?? [])];
  const session = server.listen(transport, {
    ...options,
    clock: options.clock ?? awaitedClock,
    watchers,
    report: facts.report,
  });
  return { session, peer, wire, facts };
}
