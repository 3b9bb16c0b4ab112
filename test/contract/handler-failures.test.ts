import { ProtocolError, RuntimeError, ToolError, defineTool } from 'mcp-actors';
import { cancelled, gate, toolCall } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { eachTransportAndHttp, everywhere } from './everywhere.ts';
import { echo, operate, textOf, tool } from './serving.ts';

const cycle: { self?: unknown } = {};
cycle.self = cycle;

/** A handler in JavaScript may throw anything; the types allow only errors. */
function throwing(thrown: unknown): () => never {
  return () => {
    throw thrown as Error;
  };
}

const silence = "The tool failed without an error message. See the server's log.";

/** Unintended failures of a handler, and the text for the model. */
const bugs: { readonly [what: string]: readonly [handler: () => unknown, told: string] } = {
  'throws an error': [
    () => {
      throw new Error('the disk is full');
    },
    'the disk is full',
  ],
  'throws a string': [throwing('the disk is full'), 'the disk is full'],
  'throws undefined': [throwing(undefined), silence],
  'throws an error without a message': [throwing(new TypeError()), silence],
  'throws what has no text': [throwing(Object.create(null)), silence],
  'throws what throws when it is looked at': [
    throwing({
      get message() {
        throw new Error('look away');
      },
      toString: () => {
        throw new Error('look away');
      },
    }),
    silence,
  ],
  'throws a long message': [
    throwing(new Error('x'.repeat(2001))),
    `${'x'.repeat(2000)}… (1 more characters)`,
  ],
  'throws a long message with half a character at the cut': [
    throwing(new Error(`${'x'.repeat(1999)}😀`)),
    `${'x'.repeat(1999)}… (2 more characters)`,
  ],
  rejects: [() => Promise.reject(new Error('the disk is full')), 'the disk is full'],
  'rejects with undefined': [() => Promise.reject(undefined as unknown as Error), silence],
  'rejects with what has no text': [() => Promise.reject(Object.create(null) as Error), silence],
  'gives nothing': [() => undefined, 'must be a string, content blocks'],
  'gives null': [() => null, 'must be a string, content blocks'],
  'gives a number': [() => 7, 'must be a string, content blocks'],
  'gives true': [() => true, 'must be a string, content blocks'],
  'gives an empty object': [() => ({}), 'got neither'],
  'gives a promise of nothing': [() => Promise.resolve(), 'must be a string, content blocks'],
  'gives content that is no list': [() => ({ content: 'text' }), '"content" must be a list'],
  'gives blocks that are none': [() => [1, 2], 'content block 0'],
  'gives a text block without text': [() => [{ type: 'text' }], 'content block 0'],
  'gives structured that is no object': [() => ({ structured: [1] }), '"structured" must be'],
  'gives a thenable that throws': [
    () => ({
      // oxlint-disable-next-line unicorn/no-thenable -- what handlers may give that are no promises is tried
      then: () => {
        throw new Error('the disk is full');
      },
    }),
    'the disk is full',
  ],
};

/** Codes that are invalid in JSON-RPC. */
const noCodes = [1.5, Number.NaN, '-32000', undefined];

/** Values that are not JSON. */
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

everywhere('a handler', eachTransportAndHttp, (combination) => {
  test('fails only its own request if a handler throws [FLOW-04] [BASE-06]', async () => {
    const door = gate();
    const hold = tool('hold', async () => {
      await door.pass();
      return 'held';
    });
    const throws = tool('throws', () => {
      throw new Error('the disk is full');
    });
    const { peer, facts } = await operate({ tools: [hold, throws] }, combination);
    peer.send(toolCall(1, 'hold'), toolCall(2, 'throws'));
    const { result } = await peer.response(2);
    expect(result).toEqual({
      content: [{ type: 'text', text: 'the disk is full' }],
      isError: true,
    });
    expect(await facts.next('handler.failed')).toMatchObject({
      level: 'error',
      message: 'The tool "throws" failed: Error: the disk is full',
      details: { id: 2, tool: 'throws', error: expect.any(Error) as unknown },
    });
    door.release();
    expect(textOf((await peer.response(1)).result)).toBe('held');
  });

  test('returns a result with isError for a recoverable failure [TOOLS-03]', async () => {
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

everywhere('a handler', eachTransportAndHttp, () => {
  test.each(Object.entries(bugs))(
    'fails only its own request if a handler %s, with the reason for the model [FLOW-04] [BASE-08] [TOOLS-03]',
    async (_, [handler, told]) => {
      const { peer, facts, session } = await operate({ tools: [tool('buggy', handler), echo] });
      peer.send(toolCall(1, 'buggy'), toolCall(2, 'echo', { n: 2 }));
      expect(textOf((await peer.response(2)).result)).toBe('{"n":2}');
      const { result } = await peer.response(1);
      expect(result).toHaveProperty('isError', true);
      expect(textOf(result)).toContain(told);
      expect(JSON.stringify(result)).not.toContain('handler-failures');
      await facts.next('handler.failed');
      expect(session.state).toBe('rootsKnown');
    },
  );

  test.each(Object.entries(bugs))(
    'hides all but an id if a handler %s and errors are masked [BASE-06]',
    async (_, [handler]) => {
      const { peer, facts } = await operate({ errors: 'mask', tools: [tool('buggy', handler)] });
      const result = await peer.call('buggy');
      expect(result).toHaveProperty('isError', true);
      const { errorId } = (await facts.next('handler.failed')).details ?? {};
      expect(errorId).toMatch(/^[0-9a-f-]{36}$/);
      expect(textOf(result)).toBe(
        `The tool failed. See error ${String(errorId)} in the server's log.`,
      );
    },
  );

  test("lets a tool's own setting override maskErrors of the server [BASE-06]", async () => {
    const failing = (name: string, errors: 'show' | 'mask') =>
      defineTool({
        name,
        description: 'Fails',
        errors,
        handler: () => {
          throw new Error('the disk is full');
        },
      });
    const tools = [failing('open', 'show'), failing('closed', 'mask')];
    for (const errors of ['show', 'mask'] as const) {
      const { peer } = await operate({ errors, tools });
      expect(textOf(await peer.call('open'))).toBe('the disk is full');
      expect(textOf(await peer.call('closed'))).not.toContain('disk');
      expect(JSON.stringify(await peer.ask('tools/list'))).not.toContain('errors');
    }
  });

  test('neither masks nor logs a ToolError [TOOLS-03]', async () => {
    const fails = tool('fails', () => {
      throw new ToolError('Try a shorter path', { code: 'TOO_LONG' });
    });
    const { peer, facts } = await operate({ errors: 'mask', tools: [fails] });
    expect(textOf(await peer.call('fails'))).toBe('TOO_LONG: Try a shorter path');
    expect(facts.of('handler.failed')).toEqual([]);
  });

  test('sends and reports nothing if a handler throws after its cancellation [FLOW-04]', async () => {
    const [started, stopped] = [gate(), gate()];
    const stops = tool('stops', async (_, { signal }) => {
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
      started.release();
      await aborted;
      stopped.release();
      throw new Error('stopped');
    });
    const { peer, facts } = await operate({ tools: [stops, echo] });
    peer.send(toolCall(1, 'stops'));
    await started.pass();
    peer.send(cancelled(1));
    await stopped.pass();
    await peer.call('echo');
    expect(facts.of('handler.failed')).toEqual([]);
  });

  test.each(Object.entries(unserializable))(
    'fails only its own request with -32603 if a handler returns %s [FLOW-05]',
    async (_, handler) => {
      const { peer } = await operate({ tools: [tool('buggy', handler), echo] });
      peer.send(toolCall(1, 'buggy'), toolCall(2, 'echo', { n: 2 }));
      const { error } = await peer.response(1);
      expect(error?.code).toBe(-32603);
      expect(JSON.stringify(error)).not.toContain('1234');
      expect(textOf((await peer.response(2)).result)).toBe('{"n":2}');
    },
  );

  test('isolates a handler that hangs [FLOW-04]', async () => {
    const hang = tool('hang', () => new Promise(() => {}));
    const { peer } = await operate({ tools: [hang, echo] });
    peer.send(toolCall(1, 'hang'));
    expect(textOf(await peer.call('echo', { still: 'here' }))).toBe('{"still":"here"}');
  });

  test('sends the code, message and data of a ProtocolError thrown by a handler [BASE-06]', async () => {
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

  test('returns a result with isError if a handler rethrows a refusal [TOOLS-03]', async () => {
    const asks = tool('asks', () => {
      throw new RuntimeError('REQUEST_TIMEOUT', 'The client is slow');
    });
    const { peer } = await operate({ tools: [asks] });
    const result = await peer.call('asks');
    expect(result['isError']).toBe(true);
    expect(textOf(result)).toBe('REQUEST_TIMEOUT: The client is slow');
  });

  test('awaits a thenable like a promise [FLOW-04]', async () => {
    // oxlint-disable-next-line unicorn/no-thenable -- what handlers may give that are no promises is tried
    const lazy = tool('lazy', () => ({ then: (give: (text: string) => void) => give('late') }));
    const { peer } = await operate({ tools: [lazy] });
    expect(textOf(await peer.call('lazy'))).toBe('late');
  });
});

everywhere('a ProtocolError of a handler', eachTransportAndHttp, () => {
  test.each(noCodes)(
    'requires an integer code of a ProtocolError: %j is a bug [BASE-11]',
    async (code) => {
      const odd = tool('odd', () => {
        throw new ProtocolError(code as number, 'odd');
      });
      const { peer, facts } = await operate({ tools: [odd] });
      expect(await peer.call('odd')).toHaveProperty('isError', true);
      expect((await facts.next('handler.failed')).message).toContain('must be an integer');
    },
  );

  test('sends a ProtocolError with its code, message and data to the client [BASE-11]', async () => {
    const told = tool('told', () => {
      throw new ProtocolError(-32050, 'has data', { a: [1] });
    });
    const { peer } = await operate({ tools: [told] });
    peer.send(toolCall(1, 'told'));
    expect(await peer.error(1)).toEqual({ code: -32050, message: 'has data', data: { a: [1] } });
  });
});
