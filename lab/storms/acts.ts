/** What a client does in a storm, and what has to come of it. */
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

/** How long what was pushed may take to arrive, milliseconds. */
const pushPatienceMs = 15_000;

/** What errors may say while something is at fault. */
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
  /** Nothing is at fault: every request has its result. */
  readonly isCalm: boolean;
  /** The executions of each mark. */
  readonly marks: ReadonlyMap<string, number>;
  /** What came on the session's own stream. */
  readonly pushes: readonly Message[];
  /** The clients that have a session, this one too. */
  clients(): readonly SessionClient[];
}

/** Does one thing after the other, so that what has to come of each is known. */
export class StormActs {
  readonly #options: ActorOptions;
  readonly #marked: { readonly mark: string; readonly outcome: Outcome }[] = [];
  /** The levels that may hold: more than one if it is unknown whether a change was made. */
  #levels: Level[] = ['debug'];
  #serial = 0;

  constructor(options: ActorOptions) {
    this.#options = options;
  }

  /** A change of the session, and a look at what it has changed. */
  change(): Promise<void> {
    const act = this.#options.chance.pick(['level', 'level', 'roots', 'roots', 'pushes']);
    if (act === 'level') return this.#level();
    return act === 'roots' ? this.#roots() : this.#pushes();
  }

  /** A call. */
  call(): Promise<void> {
    const act = this.#options.chance.pick(['mark', 'mark', 'count', 'ask']);
    if (act === 'mark') return this.#mark();
    return act === 'count' ? this.#count() : this.#ask();
  }

  /** What can only be said once all is over: no call has run twice, and what has a result has run. */
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
    // Wherever something changes, all hear of it.
    const other = chance.shuffled(this.#options.clients())[0] ?? client;
    const { owners } = client;
    const { owners: othersOwners } = other;
    for (const uri of uris) {
      const { outcome } = await other.call('touch', { uri });
      this.#allow(outcome);
      // Whether it was announced is unknown.
      if (outcome.kind !== 'result') return;
    }
    const told = () => updatesOf(pushes).filter((uri) => uris.includes(uri));
    const deadline = history.now + pushPatienceMs;
    while (new Set(told()).size < uris.length && history.now < deadline) await delay(20);
    // What waits for a stream is lost with its owner, and what is on its way with the node where it has changed.
    const isSame = client.owners === owners && other.owners === othersOwners;
    const ought = isSame ? uris : uris.filter((uri) => told().includes(uri));
    // A node that may have missed something tells of all.
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
    // What it is told afterwards is told in order: it would have come before.
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

  /** What came of a request is a result, or, unless it is calm, what the documents say of a fault. */
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
