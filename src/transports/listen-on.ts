/** Listens on an address, with actionable errors. */

/** Failure to listen on an address. The message is one sentence for people. */
export class AddressError extends Error {
  override readonly name = 'AddressError';
  /** Node's error code, such as `EADDRINUSE`. */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** The subset of Node's `Server` used here. */
interface ListeningServer {
  once(event: 'error', listener: (error: NodeError) => void): unknown;
  off(event: 'error', listener: (error: NodeError) => void): unknown;
  listen(port: number, host: string, listening: () => void): unknown;
  address(): string | { readonly port: number } | null;
}

interface NodeError extends Error {
  readonly code?: string;
}

/** Listens on a host and port. @returns the port; for 0, the one chosen by the system */
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

/** Lower ports need a privilege on most systems. */
const firstFreePort = 1024;

function addressErrorOf(
  { code = 'UNKNOWN', message }: NodeError,
  port: number,
  host: string,
): AddressError {
  const describe = () => {
    switch (code) {
      case 'EADDRINUSE':
        return `Port ${port} of ${host} is in use: stop the program that listens there, or choose another port`;
      case 'EACCES':
        return port < firstFreePort
          ? `Port ${port} of ${host} needs a privilege that this process lacks: choose port ${firstFreePort} or higher`
          : `Permission denied for port ${port} of ${host}: choose another port`;
      case 'EADDRNOTAVAIL':
        return `${host} is not an address of this machine (port ${port}): choose one of its own, such as 127.0.0.1`;
      case 'ENOTFOUND':
      case 'EAI_AGAIN':
        return `${host} cannot be resolved to an address (port ${port}): use an address such as 127.0.0.1`;
      default:
        return `Cannot listen on port ${port} of ${host}: ${message}`;
    }
  };
  return new AddressError(describe(), code);
}
