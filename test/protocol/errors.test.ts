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

describe('toWireError', () => {
  test('sends a ProtocolError unchanged', () => {
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
  ])('returns undefined for any other error (%#)', (thrown: unknown) => {
    expect(toWireError(thrown)).toBeUndefined();
  });
});

describe('an error response', () => {
  test('has the id of its request, even if it is 0 or empty', () => {
    expect(errorResponse(clientId(0), internalError)).toEqual({
      jsonrpc: '2.0',
      id: 0,
      error: internalError,
    });
    expect(errorResponse(clientId(''), internalError)).toHaveProperty('id', '');
  });

  test('omits the id if it could not be read', () => {
    expect(Object.keys(errorResponse(undefined, internalError))).toEqual(['jsonrpc', 'error']);
  });
});

test('has an internal error without details that cannot be modified', () => {
  expect(internalError).toEqual({ code: -32603, message: 'Internal error' });
  expect(Object.isFrozen(internalError)).toBe(true);
});

test('says that a retry is useless while shutting down', () => {
  expect(shuttingDown).toMatchObject({
    code: -32000,
    data: { reason: 'shutting-down', retryable: false },
  });
  expect(Object.isFrozen(shuttingDown)).toBe(true);
});

test("keeps codes, causes and the client's error", () => {
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
