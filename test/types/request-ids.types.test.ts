/** What the compiler proves: the ids of the client's requests and those of ours are never taken for each other. Run by `tsc`. */
import { expectTypeOf, test } from 'vitest';
import { RequestIds } from '../../src/actors/correlation/correlation.actor.ts';
import type { CallsInFlight } from '../../src/actors/router/calls-in-flight.ts';
import type { RequestContext } from '../../src/actors/request-context.ts';
import type { CorrelationEvent } from '../../src/machines/peer-ports.ts';
import { errorResponse, internalError } from '../../src/protocol/errors.ts';
import type {
  InboundRequestId,
  InboundRequest,
  InboundResponse,
  OutboundRequest,
  OutboundResult,
  RequestId,
  OutboundRequestId,
} from '../../src/protocol/frames.ts';

const minted = new RequestIds(() => 'end').idOf(1);
const read = 1 as InboundRequestId;

test('inbound and outbound ids are incompatible subtypes of ids', () => {
  expectTypeOf<InboundRequestId>().not.toExtend<OutboundRequestId>();
  expectTypeOf<OutboundRequestId>().not.toExtend<InboundRequestId>();
  expectTypeOf<InboundRequestId>().toExtend<RequestId>();
  expectTypeOf<OutboundRequestId>().toExtend<RequestId>();
});

test('plain strings and numbers are neither inbound nor outbound ids', () => {
  expectTypeOf<RequestId>().not.toExtend<InboundRequestId>();
  expectTypeOf<RequestId>().not.toExtend<OutboundRequestId>();
});

test('frames have inbound ids when received and outbound ids when sent', () => {
  expectTypeOf<InboundRequest['id']>().toEqualTypeOf<InboundRequestId>();
  expectTypeOf<OutboundResult['id']>().toEqualTypeOf<InboundRequestId>();
  expectTypeOf<RequestContext['request']['id']>().toEqualTypeOf<InboundRequestId>();
  expectTypeOf<OutboundRequest['id']>().toEqualTypeOf<OutboundRequestId>();
  expectTypeOf<InboundResponse['id']>().toEqualTypeOf<OutboundRequestId>();
});

test('the types reject answering an outbound request or correlating an inbound id', () => {
  // @ts-expect-error It is one of ours.
  errorResponse(minted, internalError);
  // @ts-expect-error It is one of ours.
  expectTypeOf<CallsInFlight['find']>().toBeCallableWith({ id: minted });
  expectTypeOf<CallsInFlight['find']>().toBeCallableWith({ id: read });
  const cancelled = (id: OutboundRequestId): CorrelationEvent => ({
    type: 'remote.cancelled',
    id,
    reason: undefined,
  });
  // @ts-expect-error It is one of the client's.
  cancelled(read);
  cancelled(minted);
});
