import { describe, expect, test } from 'vitest';
import { ErrorCode } from '../../src/protocol/errors.ts';
import type { FormDescription } from '../../src/protocol/form.ts';
import { inEach, outcome, since } from './dialect-tables.ts';
import type { Row } from './dialect-tables.ts';

describe('the task request of a tool call', () => {
  const unasked = undefined;
  test.each([
    ['optional', { task: { ttl: 5 } }, { requestedTtlMs: 5 }],
    ['optional', { task: {} }, { requestedTtlMs: undefined }],
    ['optional', { task: { ttl: null } }, { requestedTtlMs: undefined }],
    ['optional', {}, unasked],
    ['optional', { task: true }, ErrorCode.invalidParams],
    ['required', { task: { ttl: -1 } }, ErrorCode.invalidParams],
    ['required', {}, ErrorCode.methodNotFound],
    ['forbidden', { task: {} }, ErrorCode.methodNotFound],
    [undefined, { task: {} }, ErrorCode.methodNotFound],
    [undefined, undefined, unasked],
  ] as const)('depends on the tool: %s, %j', (taskSupport, params, expected) => {
    const tool = { name: 'n', ...(taskSupport ? { taskSupport } : {}) };
    for (const [, dialect, wanted] of inEach(since('2025-11-25', expected, unasked))) {
      expect(outcome(() => dialect.taskRequest(tool, params, {}))).toEqual(wanted);
    }
  });
});

describe('completion', () => {
  const context = { arguments: { a: 'b' } };
  test.each(inEach(since('2025-06-18', context, undefined)))(
    'in %s has a context if the revision supports it',
    (_, dialect, expected) => {
      expect(dialect.completionContext({ context })).toEqual(expected);
    },
  );
});

describe('missingCapability', () => {
  const tools = { messages: [], tools: [] };
  const used = { messages: [{ content: { type: 'tool_result' } }] };
  const has = (what: string) => new RegExp(`^did not declare the capability "${what}"$`);
  const no = (what: string) => new RegExp(`^speaks revision \\S+, which has no ${what}$`);
  const noForms = no('elicitation');

  test.each<readonly [string, object | undefined, object, Row]>([
    ['roots/list', undefined, {}, since('2024-11-05', has('roots'), undefined)],
    ['roots/list', undefined, { roots: {} }, since('2024-11-05', undefined, undefined)],
    ['sampling/createMessage', {}, {}, since('2024-11-05', has('sampling'), undefined)],
    ['sampling/createMessage', {}, { sampling: {} }, since('2024-11-05', undefined, undefined)],
    [
      'sampling/createMessage',
      tools,
      { sampling: {} },
      since('2025-11-25', has('sampling.tools'), no('tools in sampling')),
    ],
    [
      'sampling/createMessage',
      used,
      { sampling: { tools: {} } },
      since('2025-11-25', undefined, no('tools in sampling')),
    ],
    [
      'sampling/createMessage',
      { includeContext: 'thisServer' },
      { sampling: {} },
      since('2025-11-25', has('sampling.context'), undefined),
    ],
    ['elicitation/create', {}, {}, since('2025-06-18', has('elicitation'), noForms)],
    ['elicitation/create', {}, { elicitation: {} }, since('2025-06-18', undefined, noForms)],
    [
      'elicitation/create',
      { mode: 'form' },
      { elicitation: { url: {} } },
      since('2025-06-18', has('elicitation.form'), noForms),
    ],
    [
      'elicitation/create',
      { mode: 'url' },
      { elicitation: {} },
      since('2025-11-25', has('elicitation.url'), no('URL elicitation')),
    ],
    [
      'elicitation/create',
      { mode: 'url' },
      { elicitation: { url: {} } },
      since('2025-11-25', undefined, no('URL elicitation')),
    ],
    ['x/unknown', {}, {}, since('2024-11-05', undefined, undefined)],
    ['constructor', {}, {}, since('2024-11-05', undefined, undefined)],
  ])('for %s with %j and the capabilities %j', (method, params, capabilities, expected) => {
    for (const [, dialect, lacks] of inEach(expected)) {
      const lacking = dialect.missingCapability(method, params as never, capabilities as never);
      if (lacks === undefined) expect(lacking).toBeUndefined();
      else expect(lacking?.why).toMatch(lacks as RegExp);
    }
  });
});

describe('a conversation', () => {
  const [text, image] = [{ type: 'text' }, { type: 'image' }];
  const audio = { type: 'audio' };
  const message = { role: 'user', content: [text, image], _meta: { a: 1 } };
  const split = {
    maxTokens: 9,
    messages: [
      { role: 'user', content: text },
      { role: 'user', content: image },
    ],
  };
  test.each(inEach(since('2025-11-25', { maxTokens: 9, messages: [message] }, split)))(
    'in %s splits messages into as many as the revision needs',
    (_, dialect, expected) => {
      expect(dialect.sampling({ maxTokens: 9, messages: [message] })).toEqual(expected);
    },
  );

  const one = { messages: [{ role: 'user', content: audio }] };
  test.each(inEach(since('2025-03-26', one, 'CAPABILITY_MISSING')))(
    'in %s has audio if the revision supports it',
    (_, dialect, expected) => {
      const spoken = { messages: [{ role: 'user', content: [audio] }] };
      expect(outcome(() => dialect.sampling(spoken))).toEqual(expected);
    },
  );
});

describe('a form', () => {
  const color = {
    kind: 'choice',
    name: 'p',
    style: 'titled',
    options: [{ value: 'r', title: 'Red' }],
    default: 'r',
  } as const;
  const days = {
    kind: 'choices',
    name: 'p',
    style: 'untitled',
    options: [{ value: 'm' }],
  } as const;
  const none = 'CAPABILITY_MISSING';
  const asked = (p: object, mode: object = { mode: 'form' }) => ({
    ...mode,
    message: 'm',
    requestedSchema: { type: 'object', properties: { p }, required: ['p'] },
  });

  test.each<readonly [FormDescription['fields'][number], Row]>([
    [
      { kind: 'text', name: 'p', title: 'P', pattern: '^a', default: 'a' },
      {
        '2024-11-05': none,
        '2025-03-26': none,
        '2025-06-18': asked({ type: 'string', title: 'P' }, {}),
        '2025-11-25': asked({ type: 'string', title: 'P', pattern: '^a', default: 'a' }),
      },
    ],
    [
      color,
      {
        '2024-11-05': none,
        '2025-03-26': none,
        '2025-06-18': asked({ type: 'string', enum: ['r'], enumNames: ['Red'] }, {}),
        '2025-11-25': asked({
          type: 'string',
          oneOf: [{ const: 'r', title: 'Red' }],
          default: 'r',
        }),
      },
    ],
    [
      days,
      {
        '2024-11-05': none,
        '2025-03-26': none,
        '2025-06-18': none,
        '2025-11-25': asked({ type: 'array', items: { type: 'string', enum: ['m'] } }),
      },
    ],
  ])('has the fields that each revision supports: %j', (field, expected) => {
    for (const [, dialect, params] of inEach(expected)) {
      const form = { fields: [field], required: ['p'] };
      expect(outcome(() => dialect.form('m', form))).toEqual(params);
    }
  });
});
