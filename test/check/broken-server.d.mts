export function brokenServer(
  faults: readonly string[],
  host: { write(text: string): void; exit(code: number): void },
): { receive(text: string): void; end(): void };
