/** The start of many servers: who is waited for, shown with each of their connections. */
import { createActor, toPromise } from 'xstate';
import type { Actor } from 'xstate';
import type { Clock } from '../../actors/clock.ts';
import { Transitions, observedMachine } from '../../actors/transitions.ts';
import type { ObservedScope } from '../../actors/transitions.ts';
import type { Report } from '../../actors/facts.ts';
import { dumpActor } from '../../diagnosis/peer-dump.ts';
import type { ActorDump } from '../../diagnosis/peer-dump.ts';
import { startupMachine } from '../../machines/startup.machine.ts';
import type { StartupInput } from '../../machines/startup.machine.ts';
import type { ConnectionWatcher, WatchedConnection } from '../connection/watched-connection.ts';

export class ShownStartup implements ObservedScope {
  readonly #actor: Actor<typeof startupMachine>;
  readonly #report: Report;
  #transitions: Transitions | undefined = undefined;

  constructor(input: StartupInput, clock: Clock, report: Report) {
    this.#report = report;
    const machine = observedMachine('startup', startupMachine, () => this);
    this.#actor = createActor(machine, { id: 'startup', clock, input }).start();
  }

  get observedTransitions(): Transitions | undefined {
    return this.#transitions;
  }

  get actor(): Actor<typeof startupMachine> {
    return this.#actor;
  }

  dumped(): ActorDump {
    return dumpActor(this.#actor, 'startup');
  }

  /** Resolves once each server is ready or has failed, or the time is over. */
  get over(): Promise<unknown> {
    return toPromise(this.#actor);
  }

  /** The start is over some time, and hears of nothing after that. */
  settled(name: string): void {
    if (this.#actor.getSnapshot().status === 'active') {
      this.#actor.send({ type: 'server.settled', name });
    }
  }

  stop(): void {
    this.#actor.stop();
  }

  /** The same watchers; to them the start is one of each connection's machines. */
  shownTo(watchers: readonly ConnectionWatcher[]): readonly ConnectionWatcher[] {
    return watchers.map((watch) => (watched) => watch(this.#beside(watched)));
  }

  #beside(watched: WatchedConnection): WatchedConnection {
    const own = (this.#transitions ??= new Transitions(this.#report));
    return {
      ...watched,
      dump: () => {
        const dump = watched.dump();
        return { ...dump, actors: [...dump.actors, this.dumped()] };
      },
      transitions: {
        listen: (listener) => {
          const ends = [watched.transitions.listen(listener), own.listen(listener)];
          return () => ends.forEach((end) => end());
        },
      },
    };
  }
}
