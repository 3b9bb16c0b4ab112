import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ContentBlock } from '../../src/protocol/content.ts';
import type { Dialect } from '../../src/protocol/dialects/dialect.ts';
import {
  latestHandshake,
  negotiateDialect,
  handshakeVersions,
} from '../../src/protocol/dialects/registry.ts';
import { ErrorCode, RuntimeError, ToolError } from '../../src/protocol/errors.ts';
import { inEach, outcome, since, versions } from './dialect-tables.ts';
import type { Row } from './dialect-tables.ts';

describe('version negotiation', () => {
  test('knows the four revisions with a handshake, newest first', () => {
    expect(handshakeVersions).toEqual(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']);
  });

  test.each(versions)('accepts %s', (version) => {
    expect(negotiateDialect(version).version).toBe(version);
  });

  test.each(['', '2026-07-28', '2025-11-25 ', '2025-11', 'draft', '__proto__', 'constructor'])(
    'answers an unsupported version with the latest: %j',
    (version) => {
      expect(negotiateDialect(version)).toBe(latestHandshake);
    },
  );

  test('never echoes an unknown version', () => {
    fc.assert(
      fc.property(fc.string(), (version) => {
        expect(handshakeVersions).toContain(negotiateDialect(version).version);
      }),
    );
  });
});

describe('the result of initialize', () => {
  const icons = [{ src: 'data:,' }];
  const info = { name: 'server', version: '2' };
  const titled = { ...info, title: 'Server' };
  const serverInfo = { ...titled, icons, websiteUrl: 'https://server.example' };

  test.each(
    inEach({
      '2024-11-05': info,
      '2025-03-26': info,
      '2025-06-18': titled,
      '2025-11-25': serverInfo,
    }),
  )('in %s has the identity members of the revision', (version, dialect, expected) => {
    expect(dialect.initializeResult({ serverInfo, capabilities: {} })).toEqual({
      protocolVersion: version,
      capabilities: {},
      serverInfo: expected,
    });
  });

  const old = { logging: {}, prompts: {}, resources: {}, tools: { listChanged: true } };
  const completing = { ...old, completions: {} };
  const capabilities = { ...completing, tasks: { list: {} }, later: {} };
  test.each(
    inEach({
      '2024-11-05': old,
      '2025-03-26': completing,
      '2025-06-18': completing,
      '2025-11-25': { ...completing, tasks: { list: {} } },
    }),
  )('in %s declares the capabilities of the revision', (_, dialect, expected) => {
    const result = dialect.initializeResult({ serverInfo, capabilities });
    expect(result['capabilities']).toEqual(expected);
  });

  test.each(versions)('in %s has instructions if given', (version) => {
    const dialect = negotiateDialect(version);
    const server = { serverInfo: info, capabilities: {} };
    expect(dialect.initializeResult(server)).not.toHaveProperty('instructions');
    const told = dialect.initializeResult({ ...server, instructions: '' });
    expect(told).toHaveProperty('instructions', '');
  });
});

describe('a batch', () => {
  const none = /has no batches/;
  test.each(
    inEach({ '2024-11-05': none, '2025-03-26': undefined, '2025-06-18': none, '2025-11-25': none }),
  )('in %s is allowed if the revision has batches', (_, dialect, expected) => {
    const refusal = dialect.batchRefusal(4, 4);
    if (expected === undefined) expect(refusal).toBeUndefined();
    else
      expect(refusal).toMatchObject({
        code: ErrorCode.invalidRequest,
        message: expect.stringMatching(expected as RegExp) as string,
      });
  });

  test('is rejected above the limit', () => {
    expect(negotiateDialect('2025-03-26').batchRefusal(5, 4)).toMatchObject({
      code: ErrorCode.invalidRequest,
      message: expect.stringContaining('at most 4') as string,
    });
  });
});

describe('a method', () => {
  test.each([
    ['initialize', since('2024-11-05', true, false)],
    ['ping', since('2024-11-05', true, false)],
    ['tools/call', since('2024-11-05', true, false)],
    ['completion/complete', since('2024-11-05', true, false)],
    ['tasks/get', since('2025-11-25', true, false)],
    ['tasks/cancel', since('2025-11-25', true, false)],
    ['sampling/createMessage', since('2024-11-05', false, false)],
    ['constructor', since('2024-11-05', false, false)],
  ])('is offered in the revisions that have it: %s', (method, expected) => {
    for (const [, dialect, isOffered] of inEach(expected)) {
      expect(dialect.offers(method)).toBe(isOffered);
    }
  });
});

describe('a listed item', () => {
  const about = {
    title: 'Title',
    description: 'words',
    icons: [{ src: 'data:,' }],
    _meta: { a: 1 },
  };
  const plain = { description: 'words' };
  const titled = { ...plain, title: 'Title', _meta: { a: 1 } };
  const hints = { priority: 1, lastModified: '2025-01-12T15:00:58Z' };
  const olderHints = { priority: 1 };
  const schemas = { inputSchema: { type: 'object' } };
  const outputSchema = { type: 'object' };
  const annotations = { readOnlyHint: true };

  const tables: readonly (readonly [string, (dialect: Dialect) => unknown, Row])[] = [
    [
      'a tool',
      (dialect) =>
        dialect.tool({
          name: 'n',
          ...about,
          ...schemas,
          outputSchema,
          annotations,
          taskSupport: 'optional',
        }),
      {
        '2024-11-05': { name: 'n', ...plain, ...schemas },
        '2025-03-26': { name: 'n', ...plain, ...schemas, annotations },
        '2025-06-18': { name: 'n', ...titled, ...schemas, annotations, outputSchema },
        '2025-11-25': {
          name: 'n',
          ...about,
          ...schemas,
          annotations,
          outputSchema,
          execution: { taskSupport: 'optional' },
        },
      },
    ],
    [
      'a resource',
      (dialect) =>
        dialect.resource({
          uri: 'a:b',
          name: 'n',
          ...about,
          mimeType: 'text/plain',
          size: 3,
          annotations: hints,
        }),
      itemRows({ uri: 'a:b', name: 'n', mimeType: 'text/plain', size: 3 }, true),
    ],
    [
      'a template',
      (dialect) =>
        dialect.template({
          uriTemplate: 'a:{b}',
          name: 'n',
          ...about,
          mimeType: 'text/plain',
          annotations: hints,
        }),
      itemRows({ uriTemplate: 'a:{b}', name: 'n', mimeType: 'text/plain' }, true),
    ],
    [
      'a prompt',
      (dialect) => dialect.prompt({ name: 'n', ...about }),
      itemRows({ name: 'n' }, false),
    ],
    [
      'an argument of a prompt',
      (dialect) =>
        dialect.prompt({
          name: 'n',
          arguments: { who: { title: 'Who', description: 'words', required: true } },
        })['arguments'],
      since(
        '2025-06-18',
        [{ name: 'who', title: 'Who', description: 'words', required: true }],
        [{ name: 'who', description: 'words', required: true }],
      ),
    ],
  ];

  function itemRows(item: object, isAnnotated: boolean): Row {
    const older = { ...item, ...plain, ...(isAnnotated ? { annotations: olderHints } : {}) };
    const annotated = isAnnotated ? { annotations: hints } : {};
    return {
      '2024-11-05': older,
      '2025-03-26': older,
      '2025-06-18': { ...item, ...titled, ...annotated },
      '2025-11-25': { ...item, ...about, ...annotated },
    };
  }

  test.each(tables)('%s has the members of each revision', (_, project, expected) => {
    for (const [, dialect, item] of inEach(expected)) expect(project(dialect)).toEqual(item);
  });

  test.each(versions)('in %s omits undefined and internal members', (version) => {
    const dialect = negotiateDialect(version);
    const tool = { name: 'n', inputSchema: {}, handler: () => '' };
    expect(dialect.tool(tool)).toEqual({ name: 'n', inputSchema: {} });
    expect(dialect.resource({ uri: 'a:b', name: 'n' })).toEqual({ uri: 'a:b', name: 'n' });
    expect(dialect.prompt({ name: 'n', arguments: {} })).toEqual({ name: 'n' });
  });
});

describe('a content block', () => {
  const hints = { priority: 1, lastModified: '2025-01-12T15:00:58Z' };
  const extra = { annotations: hints, _meta: { a: 1 } };
  const older = { annotations: { priority: 1 } };
  const contents = { uri: 'a:b', text: 'c', _meta: { a: 1 } };
  const link = { type: 'resource_link', uri: 'a:b', name: 'n', description: 'words' } as const;
  const told = { type: 'text', text: 'n: a:b (words)', ...older };
  const audio = { type: 'audio', data: 'AA==', mimeType: 'audio/wav' } as const;
  const silent = {
    type: 'text',
    text: '[Audio, audio/wav: not supported by MCP 2024-11-05]',
    ...older,
  };

  const tables: readonly (readonly [ContentBlock, Row])[] = [
    [
      { type: 'text', text: 'a', ...extra },
      since(
        '2025-06-18',
        { type: 'text', text: 'a', ...extra },
        { type: 'text', text: 'a', ...older },
      ),
    ],
    [
      { ...audio, ...extra },
      {
        '2024-11-05': silent,
        '2025-03-26': { ...audio, ...older },
        '2025-06-18': { ...audio, ...extra },
        '2025-11-25': { ...audio, ...extra },
      },
    ],
    [{ ...link, ...extra }, since('2025-06-18', { ...link, ...extra }, told)],
    [
      { ...link, ...extra, icons: [] } as ContentBlock,
      {
        '2024-11-05': told,
        '2025-03-26': told,
        '2025-06-18': { ...link, ...extra },
        '2025-11-25': { ...link, ...extra, icons: [] },
      },
    ],
    [
      { ...link, title: 'Title' },
      since(
        '2025-06-18',
        { ...link, title: 'Title' },
        { type: 'text', text: 'Title: a:b (words)' },
      ),
    ],
    [
      { type: 'resource', resource: contents, ...extra },
      since(
        '2025-06-18',
        { type: 'resource', resource: contents, ...extra },
        { type: 'resource', resource: { uri: 'a:b', text: 'c' }, ...older },
      ),
    ],
  ];

  test.each(tables)('is projected for each revision: %j', (block, expected) => {
    for (const [, dialect, seen] of inEach(expected)) {
      expect(dialect.content([block])).toEqual([seen]);
    }
  });

  test('is not copied for the latest revision', () => {
    const blocks: readonly ContentBlock[] = [{ type: 'text', text: 'a' }];
    expect(latestHandshake.content(blocks)).toBe(blocks);
  });

  test.each(inEach(since('2025-06-18', contents, { uri: 'a:b', text: 'c' })))(
    'of a read resource has no _meta before 2025-06-18: %s',
    (_, dialect, expected) => {
      expect(dialect.contents(contents)).toEqual(expected);
    },
  );
});

describe('the result of a tool', () => {
  const content = [{ type: 'text', text: 'a' }] as const;

  test.each(
    inEach(
      since(
        '2025-06-18',
        { content, structuredContent: { a: 1 }, _meta: { b: 2 } },
        { content, _meta: { b: 2 } },
      ),
    ),
  )('in %s is structured if the revision supports it', (_, dialect, expected) => {
    const result = { content, structured: { a: 1 }, isError: false, _meta: { b: 2 } };
    expect(dialect.toolResult(result)).toEqual(expected);
  });

  test.each(versions)('in %s may be an error', (version) => {
    const result = { content, structured: undefined, isError: true, _meta: undefined };
    expect(negotiateDialect(version).toolResult(result)).toEqual({ content, isError: true });
  });

  test.each(
    inEach(
      since(
        '2025-11-25',
        { content: [{ type: 'text', text: 'bad' }], isError: true },
        ErrorCode.invalidParams,
      ),
    ),
  )(
    'in %s reports invalid arguments as a tool or request error, as the revision requires',
    (_, dialect, expected) => {
      expect(outcome(() => dialect.invalidArguments('bad'))).toEqual(expected);
    },
  );

  test.each(versions)('in %s reports a recoverable failure with its code, if any', (version) => {
    const dialect = negotiateDialect(version);
    const failed = (text: string) => ({ content: [{ type: 'text', text }], isError: true });
    const missing = new RuntimeError('CAPABILITY_MISSING', 'no forms');
    expect(dialect.toolFailure(new ToolError('gone'))).toEqual(failed('gone'));
    expect(dialect.toolFailure(missing)).toEqual(failed('CAPABILITY_MISSING: no forms'));
  });

  test.each(versions)('in %s reports a missing resource with its code and URI', (version) => {
    expect(negotiateDialect(version).resourceNotFound('a:b')).toMatchObject({
      code: ErrorCode.resourceNotFound,
      data: { uri: 'a:b' },
    });
  });
});

describe('a progress notification', () => {
  const step = { progressToken: 't', progress: 1, total: 2 };
  test.each(inEach(since('2025-03-26', { ...step, message: 'half' }, step)))(
    'in %s has a message if the revision supports it',
    (_, dialect, expected) => {
      expect(dialect.progress('t', { progress: 1, total: 2, message: 'half' })).toEqual(expected);
    },
  );

  test.each(versions)('in %s has a total if given', (version) => {
    const dialect = negotiateDialect(version);
    const [least, endless] = [{ progress: 1 }, { progress: 1, total: Infinity }];
    expect(dialect.progress(0, least)).toEqual({ progressToken: 0, progress: 1 });
    expect(dialect.progress(0, endless)).toEqual({ progressToken: 0, progress: 1 });
  });
});
