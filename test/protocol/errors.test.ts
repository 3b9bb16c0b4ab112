import { describe, expect, test } from 'vitest';
import {
  ErrorCode,
  ProtocolError,
  RuntimeError,
  ToolError,
  errorResponse,
  internalError,
  shuttingDown,
  toWireError,
} from '../../src/protocol/errors.ts';
import { clientId } from '../actors/ids.ts';

describe('what was thrown', () => {
  test('goes to the wire as it is, if it was meant for the wire', () => {
    expect(
      toWireError(new ProtocolError(ErrorCode.resourceNotFound, 'gone', { uri: 'x' })),
    ).toEqual({
      code: -32002,
      message: 'gone',
      data: { uri: 'x' },
    });
    expect(toWireError(new ProtocolError(1, 'm'))).not.toHaveProperty('data');
    expect(toWireError(new ProtocolError(1, 'm', null))).toHaveProperty('data', null);
  });

  test.each([
    new Error('secret'),
    new ToolError('secret'),
    new RuntimeError('REQUEST_TIMEOUT', 'secret'),
    'secret',
    undefined,
    null,
    { code: 1, message: 'secret' },
    Object.create(null),
  ])('has no wire form otherwise: it is a bug (%#)', (thrown: unknown) => {
    expect(toWireError(thrown)).toBeUndefined();
  });
});

describe('an error response', () => {
  test('has the id of its request, also where that is 0 or empty', () => {
    expect(errorResponse(clientId(0), internalError)).toEqual({
      jsonrpc: '2.0',
      id: 0,
      error: internalError,
    });
    expect(errorResponse(clientId(''), internalError)).toHaveProperty('id', '');
  });

  test('has no id at all where the id could not be read', () => {
    expect(Object.keys(errorResponse(undefined, internalError))).toEqual(['jsonrpc', 'error']);
  });
});

test('the internal error tells nothing, and nobody can make it tell', () => {
  expect(internalError).toEqual({ code: -32603, message: 'Internal error' });
  expect(Object.isFrozen(internalError)).toBe(true);
});

test('what comes too late is told so, and that trying again is of no use', () => {
  expect(shuttingDown).toMatchObject({
    code: -32000,
    data: { reason: 'shutting-down', retryable: false },
  });
  expect(Object.isFrozen(shuttingDown)).toBe(true);
});

test('errors keep their codes, causes and what the client said', () => {
  const cause = new Error('why');
  expect(new ToolError('m', { code: 'OUTSIDE_ROOTS', cause })).toMatchObject({
    name: 'ToolError',
    code: 'OUTSIDE_ROOTS',
    cause,
  });
  const remote = { code: 1, message: 'no' };
  expect(new RuntimeError('REQUEST_FAILED', 'm', { cause, remote })).toMatchObject({
    name: 'RuntimeError',
    code: 'REQUEST_FAILED',
    cause,
    remote,
  });
});
