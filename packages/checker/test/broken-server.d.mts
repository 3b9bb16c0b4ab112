export interface Host {
  write(text: string): void;
  exit(code: number): void;
  /** Timers of the server. Default: the process's own. */
  readonly clock?: {
    setTimeout(action: () => void, ms: number): unknown;
    clearTimeout(timer: never): void;
  };
}

export function brokenServer(
  faults: readonly string[],
  host: Host,
): { receive(text: string): void; end(): void };
