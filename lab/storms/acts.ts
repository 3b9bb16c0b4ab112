/** Actions of a client in a storm, and their expected outcomes. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Message } from '../../packages/http/test/raw-client.ts';
import type { Chance } from '../../test/tooling/chance.ts';
import type { History } from './history.ts';
import type { Answer, Outcome, SessionClient } from './session-client.ts';

const levels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;
type Level = (typeof levels)[number];

/** Time limit for a pushed message to arrive, ms. */
const pushPatienceMs = 15_000;

/** Documented error reasons during faults. */
const documentedReasons = [
  'process-ended',
  'response-lost',
  'TRANSPORT_CLOSED',
  'REQUEST_TIMEOUT',
  'shutdown',
  'drain',
];

export interface ActorOptions {
  readonly client: SessionClient;
  readonly chance: Chance;
  readonly history: History;
  /** True without faults: every request must have its result. */
  readonly isCalm: boolean;
  /** Number of executions per mark. */
  readonly marks: ReadonlyMap<string, number>;
  /** Messages on the session's own stream. */
  readonly pushes: readonly Message[];
  /** Clients with a session, including this one. */
  clients(): readonly SessionClient[];
}

/** Performs actions sequentially, so that each expected outcome is known. */
export class StormActs {
  readonly #options: ActorOptions;
  readonly #marked: { readonly mark: string; readonly outcome: Outcome }[] = [];
  /** Possible current levels: several if the outcome of a change is unknown. */
  #levels: Level[] = ['debug'];
  #serial = 0;

  constructor(options: ActorOptions) {
    this.#options = options;
  }

  /** Changes the session, then checks the change. */
  change(): Promise<void> {
    const act = this.#options.chance.pick(['level', 'level', 'roots', 'roots', 'pushes']);
    if (act === 'level') return this.#level();
    return act === 'roots' ? this.#roots() : this.#pushes();
  }

  /** Calls a tool. */
  call(): Promise<void> {
    const act = this.#options.chance.pick(['mark', 'mark', 'count', 'ask']);
    if (act === 'mark') return this.#mark();
    return act === 'count' ? this.#count() : this.#ask();
  }

  /** Final checks: no call ran twice, and every call with a result ran. */
  judge(): void {
    const { marks, history } = this.#options;
    for (const { mark, outcome } of this.#marked) {
      const runs = marks.get(mark) ?? 0;
      if (runs > 1) history.accuse(`${mark} was executed ${runs} times`);
      if (outcome.kind === 'result' && runs === 0) history.accuse(`${mark} never ran`);
    }
  }

  async #mark(): Promise<void> {
    const mark = this.#unique('mark');
    const { outcome } = await this.#options.client.call('mark', { mark });
    this.#marked.push({ mark, outcome });
    this.#expectText(outcome, mark);
  }

  async #level(): Promise<void> {
    const { client, chance } = this.#options;
    const level = chance.pick(levels);
    const outcome = await client.insist('logging/setLevel', { level });
    this.#levels = outcome.kind === 'result' ? [level] : [...this.#levels, level];
    this.#allow(outcome);
    const text = this.#unique('said');
    const said = await client.call('say', { text });
    this.#expectText(said.outcome, text);
    this.#expectLevels(said, text);
  }

  #expectLevels({ outcome, before }: Answer, text: string): void {
    const known = this.#levels.map((level) => levels.indexOf(level));
    const [lowest, highest] = [Math.min(...known), Math.max(...known)];
    const seen = before.flatMap(({ method, params }) =>
      method === 'notifications/message' && params?.['data'] === text
        ? [levels.indexOf(params['level'] as Level)]
        : [],
    );
    const whose = `${this.#options.client.name}: ${text}, of ${this.#levels.join(' or ')} and above,`;
    if (seen.some((level) => level < lowest))
      this.#accuse(`${whose} was logged below: ${seen.join()}`);
    if (new Set(seen).size < seen.length) this.#accuse(`${whose} was logged twice: ${seen.join()}`);
    const least = levels.length - highest;
    if (outcome.kind === 'result' && seen.length < least) {
      this.#accuse(`${whose} was not logged at each: ${seen.join()}`);
    }
  }

  async #roots(): Promise<void> {
    const { client } = this.#options;
    const version = ++client.rootsVersion;
    const status = await client.notify('notifications/roots/list_changed');
    if (status !== 202) {
      if (this.#options.isCalm) this.#accuse(`${client.name}: list_changed came to ${status}`);
      return;
    }
    const { outcome } = await client.call('roots', {});
    this.#allow(outcome);
    const text = textOf(outcome);
    if (text !== undefined && Number(text.replace('file:///v', '')) < version) {
      this.#accuse(`${client.name} has told of its roots ${version}, and a call got ${text}`);
    }
  }

  async #pushes(): Promise<void> {
    const { client, chance, history, pushes, isCalm } = this.#options;
    const uris = ['x', 'y', 'z'].map((end) => `storm://${this.#unique(end)}`);
    for (const uri of uris) {
      const outcome = await client.insist('resources/subscribe', { uri });
      this.#allow(outcome);
      if (outcome.kind !== 'result') return;
    }
    // Changes must be announced everywhere, whichever node they happen on.
    const other = chance.shuffled(this.#options.clients())[0] ?? client;
    const { owners } = client;
    const { owners: othersOwners } = other;
    for (const uri of uris) {
      const { outcome } = await other.call('touch', { uri });
      this.#allow(outcome);
      // It is unknown whether the change was announced.
      if (outcome.kind !== 'result') return;
    }
    const told = () => updatesOf(pushes).filter((uri) => uris.includes(uri));
    const deadline = history.now + pushPatienceMs;
    while (new Set(told()).size < uris.length && history.now < deadline) await delay(20);
    // Messages waiting for a stream are lost with its owner, and messages in transit with a
    // replaced node.
    const isSame = client.owners === owners && other.owners === othersOwners;
    const ought = isSame ? uris : uris.filter((uri) => told().includes(uri));
    // A node that may have missed some changes announces all.
    const got = isCalm ? told() : uris.filter((uri) => told().includes(uri));
    if (got.join() !== ought.join()) {
      const by = `by ${other.name}`;
      this.#accuse(
        `${client.name} was told of ${got.join()}, and ${ought.join()} were updated ${by}`,
      );
    }
    const [uri = ''] = uris;
    const outcome = await client.insist('resources/unsubscribe', { uri });
    this.#allow(outcome);
    if (outcome.kind !== 'result' || !isCalm) return;
    await client.call('touch', { uri });
    // Announcements are in order, so an earlier one would have arrived before this.
    const marker = uris[1] ?? '';
    await client.call('touch', { uri: marker });
    while (told().filter((each) => each === marker).length < 2 && history.now < deadline)
      await delay(20);
    if (told().filter((each) => each === uri).length > 1) {
      this.#accuse(`${client.name} was told of ${uri}, from which it has unsubscribed`);
    }
  }

  async #count(): Promise<void> {
    const to = this.#options.chance.between(3, 20);
    const { outcome, before } = await this.#options.client.call('count', { to });
    this.#expectText(outcome, String(to));
    const steps = before.flatMap(({ method, params }) =>
      method === 'notifications/message' ? [Number(params?.['data'])] : [],
    );
    const inOrder = steps.every((step, index) => step === index + 1);
    const isWhole = outcome.kind !== 'result' || steps.length === to;
    if (!inOrder || !isWhole) {
      this.#accuse(`${this.#options.client.name} counted to ${to} by ${steps.join(' ')}`);
    }
  }

  async #ask(): Promise<void> {
    const question = this.#unique('question');
    const { outcome } = await this.#options.client.call('ask', { question });
    this.#expectText(outcome, question);
  }

  #expectText(outcome: Outcome, text: string): void {
    this.#allow(outcome);
    const got = textOf(outcome);
    if (got !== undefined && got !== text) {
      this.#accuse(`${this.#options.client.name} got ${got} where it should be ${text}`);
    }
  }

  /** Outcomes must be results or, during faults, documented errors. */
  #allow(outcome: Outcome): void {
    if (outcome.kind === 'result') return;
    const isDocumented =
      outcome.kind === 'lost' ||
      (outcome.kind === 'refused' && outcome.status === 503) ||
      (outcome.kind === 'error' &&
        documentedReasons.some((reason) => outcome.text.includes(reason)));
    if (isDocumented && !this.#options.isCalm) return;
    this.#accuse(`${this.#options.client.name}: ${JSON.stringify(outcome)}`);
  }

  #accuse(text: string): void {
    this.#options.history.accuse(text);
  }

  #unique(kind: string): string {
    return `${this.#options.client.name}-${kind}-${++this.#serial}`;
  }
}

function textOf(outcome: Outcome): string | undefined {
  if (outcome.kind !== 'result') return undefined;
  const [content] = (outcome.result['content'] ?? []) as readonly { readonly text?: string }[];
  return content?.text;
}

const updatesOf = (pushes: readonly Message[]): string[] =>
  pushes.flatMap(({ method, params }) =>
    method === 'notifications/resources/updated' ? [String(params?.['uri'])] : [],
  );
