/** Messages of an authorized client, for tests without HTTP. */
import type { ReaderInput } from '../../../src/machines/peer-ports.ts';
import { withOrigin } from '../../../src/protocol/frames.ts';
import type { Principal, RequestOrigin } from '../../../src/protocol/request-origin.ts';
import type { Transport } from '../../../src/transports/transport.ts';

/** Principal of a test. */
export type TestPrincipal = Pick<Principal, 'subject'> & Partial<Principal>;

/**
 * Wraps a transport so that its requests come from this principal, as over HTTP with an access
 * token.
 */
export function authorized(transport: Transport, given: TestPrincipal): Transport {
  const principal = {
    id: JSON.stringify(['test', given.subject]),
    scopes: [],
    claims: {},
    ...given,
  };
  const origin: RequestOrigin = { idScope: 'session', principal };
  return (options) => {
    const { reader, writer } = transport(options);
    type Initial = typeof reader.getInitialSnapshot;
    const getInitialSnapshot = ((scope: never, input: ReaderInput) =>
      (reader.getInitialSnapshot as (scope: never, input: ReaderInput) => unknown)(scope, {
        ...input,
        router: originating(input.router, origin),
      })) as Initial;
    return { writer, reader: { ...reader, getInitialSnapshot } as typeof reader };
  };
}

/** Adds the origin to each request on its way to the router. */
function originating(router: ReaderInput['router'], origin: RequestOrigin): ReaderInput['router'] {
  return {
    send: (event) => {
      if (event.type !== 'frames.received') return router.send(event);
      const frames = event.frames.map((frame) =>
        frame.kind === 'request' || frame.kind === 'batch' ? withOrigin(frame, origin) : frame,
      );
      router.send({ ...event, frames });
    },
  };
}
