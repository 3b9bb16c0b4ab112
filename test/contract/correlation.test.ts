import { failure, gate, result, toolCall } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { asking } from './asking.ts';
import { eachByteTransport, eachRevision, eachTransportAndHttp, everywhere } from './everywhere.ts';
import { operate, operateWarm, textOf, tool } from './serving.ts';

const method = 'custom/question';
const question = (id: number, args: object = {}) => toolCall(id, 'ask', { method, ...args });

everywhere('requests to the client', eachTransportAndHttp, (combination) => {
  test('matches answers out of order to their requests [CORR-02]', async () => {
    const { peer } = await operateWarm({ tools: [asking().ask] }, combination);
    const calls = [1, 2, 3, 4];
    peer.send(...calls.map((n) => question(n, { params: { n } })));
    const asked = await Promise.all(calls.map(() => peer.request(method)));
    expect(asked.map(({ params }) => params?.['n'])).toEqual(calls);
    peer.send(...asked.toReversed().map(({ id, params }) => result(id, { to: params?.['n'] })));
    for (const n of calls) expect(textOf((await peer.response(n)).result)).toBe(`{"to":${n}}`);
  });

  test('ignores an id of the wrong type, and one that is nearly right [CORR-02] [CORR-03]', async () => {
    const { peer, facts } = await operateWarm({ tools: [asking().ask] }, combination);
    peer.send(question(1));
    const { id } = await peer.request(method);
    const wrong = [`${id} `, String(id).toUpperCase(), 's-1', 1, 0, ''];
    peer.send(...wrong.map((other) => result(other, { wrong: true })));
    await peer.quiet();
    expect(facts.of('response.unknown')).toHaveLength(wrong.length);
    peer.send(result(id, { right: true }));
    expect(textOf((await peer.response(1)).result)).toBe('{"right":true}');
  });

  test('omits params of a request that has none [ROOTS-02]', async () => {
    const { peer } = await operateWarm({ tools: [asking().ask] }, combination);
    peer.send(question(1));
    const asked = await peer.request(method);
    expect(asked).not.toHaveProperty('params');
    peer.answer(asked, {});
  });
});

everywhere('requests to the client', eachTransportAndHttp, () => {
  test('uses unguessable ids that never repeat, in any session [CORR-01]', async () => {
    const ids: string[] = [];
    for (let session = 0; session < 3; session++) {
      const { peer } = await operateWarm({ tools: [asking().ask] });
      peer.send(question(1), question(2));
      for (let asked = 0; asked < 2; asked++) ids.push((await peer.request(method)).id as string);
    }
    expect(new Set(ids).size).toBe(6);
    for (const id of ids) expect(id).toMatch(/^s-\d+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  test('reports a second response as duplicate and ignores it [CORR-03] [BASE-09]', async () => {
    const { peer, facts } = await operateWarm({ tools: [asking().ask] });
    peer.send(question(1));
    const asked = await peer.request(method);
    peer.send(result(asked.id, { first: true }), result(asked.id, { second: true }));
    expect(textOf((await peer.response(1)).result)).toBe('{"first":true}');
    await facts.next('response.duplicate');
    const before = peer.received.length;
    peer.send(failure(asked.id, { code: 1, message: 'third' }));
    await facts.next('response.duplicate');
    await peer.quiet();
    expect(peer.received).toHaveLength(before + 1);
    expect(facts.of('response.unknown')).toEqual([]);
  });

  test('reports a response after a cancellation as late [CORR-03]', async () => {
    const { peer, facts, clock } = await operateWarm({ tools: [asking().ask] });
    peer.send(question(1, { options: { timeoutMs: 100 } }));
    const asked = await peer.request(method);
    clock.increment(100);
    await peer.notification('notifications/cancelled');
    peer.answer(asked, {});
    await facts.next('response.late');
    expect(facts.of('response.unknown')).toEqual([]);
    expect(facts.of('response.duplicate')).toEqual([]);
  });

  test('reports a response before initialize as unknown [CORR-03] [BASE-09]', async () => {
    const { peer, facts } = await operate({});
    peer.send(result('never-asked', {}));
    await facts.next('response.unknown');
    const before = peer.received.length;
    await peer.quiet();
    expect(peer.received).toHaveLength(before + 1);
  });

  test('passes the code, message and data of an error to the caller [CORR-07]', async () => {
    const { ask, errors } = asking();
    const { peer } = await operateWarm({ tools: [ask] });
    peer.send(question(1));
    const error = { code: -1, message: 'The user said no', data: { reason: 'busy' } };
    peer.refuse(await peer.request(method), error);
    const { result: given } = await peer.response(1);
    expect(given?.['isError']).toBe(true);
    expect(textOf(given)).toContain('The user said no');
    expect(errors).toMatchObject([{ code: 'REQUEST_FAILED', remote: error }]);
  });

  test('fails only the request whose params are not JSON, without sending it [CORR-08]', async () => {
    const errors: unknown[] = [];
    const bad = tool('bad', async (_, context) => {
      await context.request(method, { big: 1n }).catch((error: unknown) => errors.push(error));
      const { good } = await context.request(method, { small: 1 });
      return String(good);
    });
    const { peer } = await operateWarm({ tools: [bad] });
    peer.send(toolCall(1, 'bad'));
    const asked = await peer.request(method);
    expect(asked.params).toEqual({ small: 1 });
    expect(errors).toMatchObject([{ code: 'UNSERIALIZABLE' }]);
    peer.answer(asked, { good: 'yes' });
    expect(textOf((await peer.response(1)).result)).toBe('yes');
    expect(peer.count(method)).toBe(1);
    expect(peer.count('notifications/cancelled')).toBe(0);
  });

  test('rejects a request beyond maxPending without sending it, until another one ends [CORR-04]', async () => {
    const { ask, errors } = asking();
    const { peer } = await operateWarm({ tools: [ask] }, { limits: { maxPending: 2 } });
    peer.send(question(1), question(2), question(3));
    expect((await peer.response(3)).result?.['isError']).toBe(true);
    expect(errors).toMatchObject([{ code: 'LIMIT_EXCEEDED' }]);
    expect(peer.count(method)).toBe(2);
    peer.answer(await peer.request(method), {});
    await peer.response(1);
    peer.send(question(4));
    peer.answer(await peer.request(method), {});
    peer.answer(await peer.request(method), {});
    await peer.response(2);
    await peer.response(4);
  });

  test('matches a thousand simultaneous requests, answered in reverse [CORR-02]', async () => {
    const many = tool('many', async (_, context) => {
      const asked = Array.from({ length: 1000 }, (__, n) => context.request(method, { n }));
      const answers = await Promise.all(asked);
      return String(answers.every(({ n }, at) => n === at));
    });
    const { peer } = await operateWarm({ tools: [many] });
    peer.send(toolCall(1, 'many'));
    const asked = [];
    for (let n = 0; n < 1000; n++) asked.push(await peer.request(method));
    peer.send(...asked.toReversed().map(({ id, params }) => result(id, { ...params })));
    expect(textOf((await peer.response(1)).result)).toBe('true');
  });

  test('delivers other answers while a handler awaits one [FLOW-03]', async () => {
    const door = gate();
    const both = tool('both', async (_, context) => {
      const first = context.request(method, { n: 1 });
      await door.pass();
      const second = await context.request(method, { n: 2 });
      return JSON.stringify([await first, second]);
    });
    const { peer } = await operateWarm({ tools: [both] });
    peer.send(toolCall(1, 'both'));
    peer.answer(await peer.request(method), { n: 1 });
    door.release();
    peer.answer(await peer.request(method), { n: 2 });
    expect(textOf((await peer.response(1)).result)).toBe('[{"n":1},{"n":2}]');
  });
});

everywhere('an undeclared capability', eachRevision, ({ revision }) => {
  test.each(
    [
      ['sampling/createMessage', 'sampling'],
      ['elicitation/create', 'elicitation'],
    ].filter(([asked]) => asked !== 'elicitation/create' || revision >= '2025-06-18'),
  )('does not send %s without the capability [LIFE-12]', async (wanted, capability) => {
    const { ask, errors } = asking();
    const { peer } = await operateWarm({ tools: [ask] }, { capabilities: { other: {} } });
    const refused = await peer.call('ask', { method: wanted });
    expect(textOf(refused)).toContain(`"${capability}"`);
    expect(errors).toMatchObject([{ code: 'CAPABILITY_MISSING' }]);
    expect(peer.count(wanted)).toBe(0);
  });

  test.each([null, false, 'yes', 1])(
    'treats a capability that is %j as undeclared, because it is not an object [LIFE-12]',
    async (value) => {
      const { ask, errors } = asking();
      const { peer } = await operateWarm({ tools: [ask] }, { capabilities: { sampling: value } });
      const params = { messages: [], maxTokens: 1 };
      peer.send(toolCall(1, 'ask', { method: 'sampling/createMessage', params }));
      await peer.quiet();
      expect(peer.count('sampling/createMessage')).toBe(0);
      expect(errors).toMatchObject([{ code: 'CAPABILITY_MISSING' }]);
    },
  );
});

// The SDK's own transports over streams drop such messages.
everywhere('invalid input from the client', eachByteTransport, () => {
  const malformed: readonly [what: string, answer: object][] = [
    ['has both a result and an error', { result: {}, error: { code: 1, message: '' } }],
    ['has a result that is no object', { result: 'yes' }],
    ['has a result that is null', { result: null }],
    ['has a result that is a list', { result: [] }],
    ['has an error that is no object', { error: 'no' }],
    ['has an error that is null', { error: null }],
    ['has an error without a message', { error: { code: 1 } }],
    ['has an error whose code is no integer', { error: { code: '1', message: '' } }],
    ['has an error with a fractional code', { error: { code: 1.5, message: '' } }],
  ];

  test.each(malformed)(
    'fails a request at once if its response %s [CORR-06]',
    async (_, answer) => {
      const { ask, errors } = asking();
      const { peer } = await operateWarm({ tools: [ask] });
      peer.send(question(1));
      const { id } = await peer.request(method);
      const before = peer.received.length;
      peer.send({ jsonrpc: '2.0', id, ...answer });
      expect((await peer.response(1)).result?.['isError']).toBe(true);
      expect(errors).toMatchObject([{ code: 'INVALID_RESPONSE' }]);
      await peer.quiet();
      expect(peer.received).toHaveLength(before + 2);
    },
  );

  test.each([
    { jsonrpc: '2.0', error: { code: -32700, message: 'I could not read that' } },
    { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'I could not read that' } },
  ])('does not answer an error without an id: $error.code [BASE-09]', async (message) => {
    const { peer } = await operate({});
    const before = peer.received.length;
    peer.send(message);
    await peer.quiet();
    expect(peer.received).toHaveLength(before + 1);
  });

  test('does not answer a malformed response with an unknown id [BASE-09]', async () => {
    const { peer, facts } = await operate({});
    const before = peer.received.length;
    peer.send({ jsonrpc: '2.0', id: 'unknown', result: 'yes' });
    await facts.next('response.unknown');
    await peer.quiet();
    expect(peer.received).toHaveLength(before + 1);
  });
});

everywhere('an unreadable response', eachByteTransport, () => {
  /** All shapes: the members of the message besides the id. */
  const shapes: readonly object[] = [
    {},
    { result: {} },
    { error: { code: 1, message: 'm' } },
    { jsonrpc: '2.0' },
    { jsonrpc: '1.0', result: {} },
    { jsonrpc: 2, result: {} },
    { jsonrpc: '1.0', method: 'm', params: {} },
    { jsonrpc: '2.0', method: null, result: {} },
    { jsonrpc: '2.0', method: 7 },
    { jsonrpc: '2.0', method: {}, error: { code: 1, message: 'm' } },
    { jsonrpc: '2.0', method: 'm', params: 'text' },
    { jsonrpc: '2.0', result: null },
    { jsonrpc: '2.0', result: [] },
    { jsonrpc: '2.0', error: 'text' },
    { jsonrpc: '2.0', result: {}, error: null },
  ];

  test.each(shapes)(
    'fails a request at once, without sending anything with its id: %j [BASE-09] [CORR-02]',
    async (shape) => {
      const { ask, errors } = asking();
      const { peer, facts } = await operateWarm({ tools: [ask] });
      peer.send(question(1));
      const { id } = await peer.request(method);
      peer.send({ id, ...shape });
      await peer.response(1);
      expect(errors).toMatchObject([{ code: 'INVALID_RESPONSE' }]);
      expect(facts.of('response.malformed')).toHaveLength(1);
      // After its end it is no longer pending, but still one of our ids.
      peer.send({ id, ...shape });
      await peer.quiet();
      const carrying = peer.received.filter((frame) => (frame as { id?: unknown }).id === id);
      expect(carrying).toMatchObject([{ method }]);
      expect(peer.received.filter((frame) => !('id' in (frame as object)))).toEqual([]);
    },
  );
});
