/** Listening on an address; if that is not possible, why, and what to do. */

/** An address that cannot be listened on. The message is one sentence, for people. */
export class AddressError extends Error {
  override readonly name = 'AddressError';
  /** Node's own, such as `EADDRINUSE`. */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** The part of Node's server that is used here. */
interface ListeningServer {
  once(event: 'error', listener: (error: NodeError) => void): unknown;
  off(event: 'error', listener: (error: NodeError) => void): unknown;
  listen(port: number, host: string, listening: () => void): unknown;
  address(): string | { readonly port: number } | null;
}

interface NodeError extends Error {
  readonly code?: string;
}

/**
 * @returns the port, which the system chooses for 0
 * @throws {AddressError} the address cannot be listened on
 */
export async function listenOn(
  server: ListeningServer,
  port: number,
  host: string,
): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    const fail = (error: NodeError): void => reject(addressErrorOf(error, port, host));
    server.once('error', fail);
    server.listen(port, host, () => {
      server.off('error', fail);
      resolve();
    });
  });
  return (server.address() as { readonly port: number }).port;
}

/** The ports below need a privilege on most systems. */
const firstFreePort = 1024;

function addressErrorOf(
  { code = 'UNKNOWN', message }: NodeError,
  port: number,
  host: string,
): AddressError {
  const said = () => {
    switch (code) {
      case 'EADDRINUSE':
        return `Port ${port} of ${host} is taken: end what listens there, or choose another port`;
      case 'EACCES':
        return port < firstFreePort
          ? `Port ${port} of ${host} needs a privilege that this process does not have: choose a port from ${firstFreePort} on`
          : `This process may not listen on port ${port} of ${host}: choose another port`;
      case 'EADDRNOTAVAIL':
        return `${host} is not an address of this machine, so port ${port} cannot be listened on there: choose one that it has, such as 127.0.0.1`;
      case 'ENOTFOUND':
      case 'EAI_AGAIN':
        return `${host} is not the name of an address that is known here, so port ${port} cannot be listened on there: give an address, such as 127.0.0.1`;
      default:
        return `Port ${port} of ${host} cannot be listened on: ${message}`;
    }
  };
  return new AddressError(said(), code);
}
