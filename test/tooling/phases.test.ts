/** What has a lifecycle is a machine. A field that holds one of several literals has to say why it is no state of one. */
import { parseSync } from 'oxc-parser';
import { describe, expect, test } from 'vitest';
import { phasesInFields } from './phases.ts';
import type { Source } from './sources.ts';

/** The fields, each with its reason. */
const reasons: { readonly [field: string]: string } = {
  'packages/checker/src/http/http-wire.ts #session':
    'Data of the protocol: the headers that the next request carries, with the id even after the session was deleted.',
  'packages/workspace-server/src/globs/path-automaton.ts stays':
    'Data of a pattern: which characters it may take without going on. It is set while the pattern is read.',
  'src/actors/correlation/peer-request.ts state':
    'On the way of every request: a lookup in a chart costs more than the comparison, and three states need no picture.',
  'src/actors/reader/line-splitter.ts #state':
    'The state of a parser, on the way of every byte: what the rest of the line is for, with what is kept of a line that is too long.',
  'src/actors/router/call.ts state':
    'On the way of every call: a chart would cost a call two lookups at least, and another file.',
  'src/actors/router/router.actor.ts #lateTurn':
    'On the way of every answer: it gathers what settles in one turn, for one microtask.',
  'src/actors/traffic.ts #keeps': 'An option of the owner, given once, before anything passes.',
  'src/actors/writer/outbound-flow.ts #flush':
    'A question of the session that waits for the queue to be empty. The session has the states of its end.',
  'src/actors/writer/outbound-flow.ts #state':
    'On the way of every message. The session is told of blocked and ended, and has states for both.',
  'src/client/connection/tool-tasks.ts offer':
    'Data of the protocol: how the server offers tasks, as it has said in the handshake.',
  'src/client/http/dispatched.ts #state':
    'On the way of every request over HTTP: it stands for a response of fetch, which has no chart either.',
  'src/client/http/http-channel.actor.ts #state':
    'On the way of every message over HTTP: the flow of output, as a writer to a stream has it.',
  'src/client/http/server-stream.ts #state':
    'The state of a parser, on the way of every byte: how a line end that was cut in two is read.',
  'src/http/node/node-outlet.ts #state':
    'On the way of every answer: that its end follows what waits. The sink that it belongs to has a chart.',
  'src/http/node/retransmissions.ts #state':
    'One read that is on its way or is not: whoever asks goes on with what was known before.',
  'src/roots/disk/disk-lanes.ts standing':
    'A mark for a volume, by what it has answered: how many threads it may have.',
  'src/rounds/questions.ts state':
    'On the way of every question: it says as much as its promise, which cannot be asked.',
};

describe('the phases in fields', () => {
  const found = phasesInFields();

  test('are known, each with the reason why it is no state of a machine', () => {
    const known = new Set(Object.keys(reasons));
    const unknown = found.filter(({ field }) => !known.has(field));
    const hint = 'make it a machine in src/machines, or say in this test why it is no state of one';
    expect(unknown, hint).toEqual([]);
  });

  test('exist as long as they have a reason', () => {
    const fields = new Set(found.map(({ field }) => field));
    expect(Object.keys(reasons).filter((field) => !fields.has(field))).toEqual([]);
  });

  test('are few', () => {
    expect(Object.keys(reasons).length).toBeLessThanOrEqual(20);
  });
});

function source(path: string, text: string): Source {
  const { program, comments } = parseSync(path, text);
  return { path, text, program, comments };
}

describe('the reader of phases', () => {
  const phases = (...sources: readonly Source[]) =>
    phasesInFields(sources).map(({ field, values }) => `${field}: ${values.join(', ')}`);

  test('finds fields, members and variables that are compared with a literal', () => {
    const text = `
      class A { #phase: 'on' | 'off' = 'on'; get isOn() { return this.#phase === 'on'; } }
      interface B { stage: 'one' | 'two' | undefined }
      const isOne = (b: B) => 'one' === b.stage;
      let line: 'none' | 'open' = 'none';
      switch (line) { case 'none': }`;
    expect(phases(source('src/a.ts', text))).toEqual([
      'src/a.ts #phase: on, off',
      'src/a.ts line: none, open',
      'src/a.ts stage: one, two',
    ]);
  });

  test('finds objects that a literal tells apart, by names of this file and of another', () => {
    const types = source(
      'src/types.ts',
      `interface New { readonly state: 'new' }
       interface Over { readonly state: 'over'; readonly why: string }
       export type Phase = New | Over;`,
    );
    const text = `
      import type { Phase } from './types.ts';
      class A { #phase: Phase; get isNew() { return this.#phase.state === 'new'; } }`;
    expect(phases(types, source('src/a.ts', text))).toEqual(['src/a.ts #phase: new, over']);
  });

  test.each([
    ['what cannot be changed', `class A { readonly a: 'x' | 'y' = 'x'; b = this.a === 'x'; }`],
    ['what is not compared', `class A { a: 'x' | 'y' = 'x'; }`],
    ['what has one value', `class A { a: 'x' | undefined; b = this.a === 'x'; }`],
    ['what may be any text', `class A { a: string = 'x'; b = this.a === 'x'; }`],
  ])('passes over %s', (_, text) => {
    expect(phases(source('src/a.ts', text))).toEqual([]);
  });

  test('passes over machines', () => {
    const text = `interface Context { phase: 'x' | 'y' } const is = (c: Context) => c.phase === 'x';`;
    expect(phases(source('src/a.machine.ts', text))).toEqual([]);
    expect(phases(source('src/a.ts', text))).toHaveLength(1);
  });
});
