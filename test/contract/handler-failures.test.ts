import { ProtocolError, RuntimeError, ToolError } from 'mcp-actors';
import { gate, toolCall } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { eachTransport, everywhere } from './everywhere.ts';
import { echo, operate, textOf, tool } from './serving.ts';

const cycle: { self?: unknown } = {};
cycle.self = cycle;

/** A handler in JavaScript may throw anything; the types know of errors alone. */
function throwing(thrown: unknown): () => never {
  return () => {
    throw thrown as Error;
  };
}

/** What a handler may do wrong that is a bug of its own: the client learns nothing of it. */
const bugs: { readonly [what: string]: () => unknown } = {
  'throws an error': () => {
    throw new Error('the password is 1234');
  },
  'throws a string': throwing('the password is 1234'),
  'throws undefined': throwing(undefined),
  'throws what has no text': () => {
    throw Object.create(null);
  },
  'throws what throws when it is looked at': throwing({
    toString: () => {
      throw new Error('the password is 1234');
    },
  }),
  rejects: () => Promise.reject(new Error('the password is 1234')),
  'rejects with undefined': () => Promise.reject(undefined as unknown as Error),
  'rejects with what has no text': () => Promise.reject(Object.create(null) as Error),
  'gives nothing': () => undefined,
  'gives null': () => null,
  'gives a number': () => 7,
  'gives true': () => true,
  'gives an empty object': () => ({}),
  'gives a promise of nothing': () => Promise.resolve(),
  'gives content that is no list': () => ({ content: 'text' }),
  'gives blocks that are none': () => [1, 2],
  'gives a text block without text': () => [{ type: 'text' }],
  'gives structured that is no object': () => ({ structured: [1] }),
  'gives a thenable that throws': () => ({
    // oxlint-disable-next-line unicorn/no-thenable -- what handlers may give that are no promises is tried
    then: () => {
      throw new Error('the password is 1234');
    },
  }),
};

/** Codes that JSON-RPC does not have. */
const noCodes = [1.5, Number.NaN, '-32000', undefined];

/** What JSON cannot hold. */
const unserializable: { readonly [what: string]: () => unknown } = {
  'a cycle': () => ({ content: [], _meta: cycle }),
  'a BigInt': () => ({ content: [], _meta: { big: 1n } }),
  'a getter that throws': () => ({
    content: [],
    _meta: {
      get broken() {
        throw new Error('the password is 1234');
      },
    },
  }),
  'a toJSON that throws': () => ({
    content: [],
    _meta: {
      toJSON: () => {
        throw new Error('the password is 1234');
      },
    },
  }),
  'a cycle in an error’s data': () => {
    throw new ProtocolError(-32050, 'has data', cycle);
  },
};

everywhere('a handler', eachTransport, (combination) => {
  test('that throws harms only its own request [FLOW-04] [BASE-06]', async () => {
    const door = gate();
    const hold = tool('hold', async () => {
      await door.pass();
      return 'held';
    });
    const throws = tool('throws', () => {
      throw new Error('the password is 1234');
    });
    const { peer, facts } = await operate({ tools: [hold, throws] }, combination);
    peer.send(toolCall(1, 'hold'), toolCall(2, 'throws'));
    const { error } = await peer.response(2);
    expect(error).toEqual({ code: -32603, message: 'Internal error' });
    expect((await facts.next('handler.failed')).message).toContain('1234');
    door.release();
    expect(textOf((await peer.response(1)).result)).toBe('held');
  });

  test('that fails so that a model may recover gives a result with isError [TOOLS-03]', async () => {
    const fails = tool('fails', () => {
      throw new ToolError('Try a shorter path', { code: 'TOO_LONG' });
    });
    const { peer } = await operate({ tools: [fails] }, combination);
    expect(await peer.call('fails')).toEqual({
      content: [{ type: 'text', text: 'TOO_LONG: Try a shorter path' }],
      isError: true,
    });
  });
});

everywhere('a handler', eachTransport, () => {
  test.each(Object.entries(bugs))(
    'that %s harms only its own request, and tells nothing [FLOW-04] [BASE-08]',
    async (_, handler) => {
      const { peer, facts, session } = await operate({ tools: [tool('buggy', handler), echo] });
      peer.send(toolCall(1, 'buggy'), toolCall(2, 'echo', { n: 2 }));
      expect(textOf((await peer.response(2)).result)).toBe('{"n":2}');
      const { error } = await peer.response(1);
      expect(error).toEqual({ code: -32603, message: 'Internal error' });
      await facts.next('handler.failed');
      expect(session.state).toBe('rootsKnown');
    },
  );

  test.each(Object.entries(unserializable))(
    'that gives %s gets -32603 for its own request [FLOW-05]',
    async (_, handler) => {
      const { peer } = await operate({ tools: [tool('buggy', handler), echo] });
      peer.send(toolCall(1, 'buggy'), toolCall(2, 'echo', { n: 2 }));
      const { error } = await peer.response(1);
      expect(error?.code).toBe(-32603);
      expect(JSON.stringify(error)).not.toContain('1234');
      expect(textOf((await peer.response(2)).result)).toBe('{"n":2}');
    },
  );

  test('that hangs harms nobody [FLOW-04]', async () => {
    const hang = tool('hang', () => new Promise(() => {}));
    const { peer } = await operate({ tools: [hang, echo] });
    peer.send(toolCall(1, 'hang'));
    expect(textOf(await peer.call('echo', { still: 'here' }))).toBe('{"still":"here"}');
  });

  test('that throws a protocol error sends its code, message and data [BASE-06]', async () => {
    const throws = tool('throws', () => {
      throw new ProtocolError(-32042, 'Go there first', { url: 'https://example.org' });
    });
    const { peer } = await operate({ tools: [throws] });
    peer.send(toolCall(1, 'throws'));
    expect(await peer.error(1)).toEqual({
      code: -32042,
      message: 'Go there first',
      data: { url: 'https://example.org' },
    });
  });

  test('that passes on what it was refused gives a result with isError [TOOLS-03]', async () => {
    const asks = tool('asks', () => {
      throw new RuntimeError('REQUEST_TIMEOUT', 'The client is slow');
    });
    const { peer } = await operate({ tools: [asks] });
    const result = await peer.call('asks');
    expect(result['isError']).toBe(true);
    expect(textOf(result)).toBe('REQUEST_TIMEOUT: The client is slow');
  });

  test('that gives a thenable is awaited as one that gives a promise [FLOW-04]', async () => {
    // oxlint-disable-next-line unicorn/no-thenable -- what handlers may give that are no promises is tried
    const lazy = tool('lazy', () => ({ then: (give: (text: string) => void) => give('late') }));
    const { peer } = await operate({ tools: [lazy] });
    expect(textOf(await peer.call('lazy'))).toBe('late');
  });
});

everywhere('the error of a handler', eachTransport, () => {
  test.each(noCodes)('has an integer code: %j is a bug [BASE-11]', async (code) => {
    const odd = tool('odd', () => {
      throw new ProtocolError(code as number, 'odd');
    });
    const { peer, facts } = await operate({ tools: [odd] });
    peer.send(toolCall(1, 'odd'));
    expect(await peer.error(1)).toEqual({ code: -32603, message: 'Internal error' });
    expect((await facts.next('handler.failed')).message).toContain('must be an integer');
  });

  test('goes to the client with its code, message and data [BASE-11]', async () => {
    const told = tool('told', () => {
      throw new ProtocolError(-32050, 'has data', { a: [1] });
    });
    const { peer } = await operate({ tools: [told] });
    peer.send(toolCall(1, 'told'));
    expect(await peer.error(1)).toEqual({ code: -32050, message: 'has data', data: { a: [1] } });
  });
});
