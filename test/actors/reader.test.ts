import { Observable, Subject, map } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { describe, expect, test } from 'vitest';
import { readerActor } from '../../src/actors/reader/reader.actor.ts';
import type { RouterEvent, TransportFact } from '../../src/machines/peer-ports.ts';
import type { InboundFrame } from '../../src/protocol/frames.ts';
import { facts, listener, startPort } from './fakes.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const note = (method: string): string => `{"jsonrpc":"2.0","method":"${method}"}\n`;

function startReader(chunks$: Observable<Uint8Array>, readAheadBytes = 100) {
  const flow: string[] = [];
  const owner = listener<TransportFact>();
  const router = listener<RouterEvent>();
  const source = {
    chunks$,
    pause: () => void flow.push('pause'),
    resume: () => void flow.push('resume'),
  };
  const { heard, report } = facts();
  const options = { maxLineBytes: 1000, maxDepth: 16, readAheadBytes, report };
  const { actor, errors } = startPort(readerActor(source, options), {
    owner: owner.ref,
    router: router.ref,
  });
  const batches = (): readonly (readonly InboundFrame[])[] =>
    router.events.map((event) => (event.type === 'frames.received' ? event.frames : []));
  const methods = () =>
    batches().map((frames) =>
      frames.map((frame) => ('method' in frame ? frame.method : frame.kind)),
    );
  return { actor, errors, owner, batches, methods, flow, heard };
}

describe('the reader', () => {
  test('sends one batch of frames per chunk, and none for a chunk that ends no line', () => {
    const chunks$ = new Subject<Uint8Array>();
    const { methods } = startReader(chunks$);
    chunks$.next(bytes(note('a') + note('b') + note('c').slice(0, 5)));
    chunks$.next(bytes(note('c').slice(5, 10)));
    chunks$.next(bytes(note('c').slice(10)));
    chunks$.next(bytes('\n\r\n'));
    expect(methods()).toEqual([['a', 'b'], ['c']]);
  });

  test('passes invalid lines in order, with the error to answer', () => {
    const chunks$ = new Subject<Uint8Array>();
    const { batches } = startReader(chunks$);
    chunks$.next(
      bytes(`${note('a')}nonsense\n7\n${'['.repeat(40)}\n${'x'.repeat(2000)}\n${note('b')}`),
    );
    expect(
      batches()[0]?.map((frame) => (frame.kind === 'invalid' ? frame.error.code : frame.kind)),
    ).toEqual(['notification', -32700, -32600, -32600, -32600, 'notification']);
  });

  test('ends the input after its last line, finished or not', () => {
    const chunks$ = new Subject<Uint8Array>();
    const { methods, owner } = startReader(chunks$);
    chunks$.next(bytes(note('a') + note('b').trimEnd()));
    expect(owner.events).toEqual([]);
    chunks$.complete();
    expect(methods()).toEqual([['a'], ['b']]);
    expect(owner.events).toEqual([{ type: 'input.ended' }]);
  });

  test('ends an empty input once', () => {
    const chunks$ = new Subject<Uint8Array>();
    const { methods, owner } = startReader(chunks$);
    chunks$.complete();
    expect(methods()).toEqual([]);
    expect(owner.events).toEqual([{ type: 'input.ended' }]);
  });

  test('reports an error of the source and treats it as the end of input', () => {
    const chunks$ = new Subject<Uint8Array>();
    const { methods, owner, errors, heard } = startReader(chunks$);
    chunks$.next(bytes(note('a')));
    chunks$.error(new Error('EIO'));
    expect(heard).toMatchObject([{ name: 'input.failed', level: 'warning' }]);
    expect(methods()).toEqual([['a']]);
    expect(owner.events).toEqual([{ type: 'input.ended' }]);
    expect(errors).toEqual([]);
  });

  test('reads a source that has already ended', () => {
    const chunks$ = new Observable<Uint8Array>((subscriber) => {
      subscriber.next(bytes(note('a')));
      subscriber.complete();
    });
    const { methods, owner, errors } = startReader(chunks$);
    expect([methods(), owner.events.length, errors]).toEqual([[['a']], 1, []]);
  });

  test('unsubscribes from the source when stopped', () => {
    const chunks$ = new Subject<Uint8Array>();
    const { actor, methods, owner } = startReader(chunks$);
    actor.stop();
    expect(chunks$.observed).toBe(false);
    chunks$.next(bytes(note('a')));
    chunks$.complete();
    expect([methods(), owner.events]).toEqual([[], []]);
  });

  test('sends frames synchronously with the chunk', () => {
    new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(
      ({ cold, expectObservable, flush }) => {
        const heard = new Subject<string>();
        const texts = { a: note('a'), b: note('b').slice(0, 8), c: note('b').slice(8) };
        expectObservable(heard).toBe('--a----b--(e|)', { a: 'a', b: 'b', e: 'input.ended' });
        const owner = { send: ({ type }: TransportFact) => (heard.next(type), heard.complete()) };
        const router = {
          send: (event: RouterEvent) => {
            if (event.type !== 'frames.received') return;
            for (const frame of event.frames)
              heard.next('method' in frame ? frame.method : frame.kind);
          },
        };
        const chunks$ = cold('--a-b--c--|', texts).pipe(map(bytes));
        const source = { chunks$, pause: () => {}, resume: () => {} };
        const options = { maxLineBytes: 1000, maxDepth: 16, readAheadBytes: 1, report: () => {} };
        startPort(readerActor(source, options), { owner, router } as never);
        flush();
      },
    );
  });
});

describe('the reader while the output is blocked', () => {
  const chunk = bytes(note('a').padStart(40));

  test('reads ahead up to its limit, then pauses the source', () => {
    const chunks$ = new Subject<Uint8Array>();
    const { actor, flow, methods } = startReader(chunks$, 100);
    actor.send({ type: 'output.blocked' });
    chunks$.next(chunk);
    chunks$.next(chunk);
    expect(flow).toEqual([]);
    chunks$.next(chunk);
    expect(flow).toEqual(['pause']);
    expect(methods()).toHaveLength(3);
  });

  test('does not pause a source that delivers exactly the limit', () => {
    const chunks$ = new Subject<Uint8Array>();
    const { actor, flow } = startReader(chunks$, 80);
    actor.send({ type: 'output.blocked' });
    chunks$.next(chunk);
    chunks$.next(chunk);
    expect(flow).toEqual([]);
  });

  test('notices the end of an input that it has not paused', () => {
    const chunks$ = new Subject<Uint8Array>();
    const { actor, owner } = startReader(chunks$);
    actor.send({ type: 'output.blocked' });
    chunks$.complete();
    expect(owner.events).toEqual([{ type: 'input.ended' }]);
  });

  test('resumes when the output flows, with a fresh read-ahead limit', () => {
    const chunks$ = new Subject<Uint8Array>();
    const { actor, flow } = startReader(chunks$, 50);
    for (let i = 0; i < 100; i++) chunks$.next(chunk);
    expect(flow).toEqual([]);
    for (let i = 0; i < 3; i++) {
      actor.send({ type: 'output.blocked' });
      chunks$.next(chunk);
      expect(flow.at(-1)).not.toBe('pause');
      chunks$.next(chunk);
      expect(flow.at(-1)).toBe('pause');
      actor.send({ type: 'output.flowing' });
      expect(flow.at(-1)).toBe('resume');
    }
  });

  test('loses nothing from a source that does not pause immediately', () => {
    const chunks$ = new Subject<Uint8Array>();
    const { actor, methods } = startReader(chunks$, 1);
    actor.send({ type: 'output.blocked' });
    for (let i = 0; i < 10; i++) chunks$.next(bytes(note(String(i))));
    expect(methods().flat()).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
  });
});
