/** Recent log lines of servers, for the shell. */
import type { Connection, Servers } from 'mcp-actors/client';
import { printableLines, redactText } from 'mcp-actors/internal';
import { withoutHidden } from '../command.ts';
import { linesOf } from './person.ts';

const maxLines = 200;

export class ServerLogs {
  readonly #lines = new Map<string, string[]>();
  readonly #stop: () => void;

  constructor(servers: Servers) {
    const subscription = servers.events$.subscribe((happened) => {
      // The connection keeps stderr itself.
      if (happened.type !== 'connection' || happened.event.type === 'stderr') return;
      this.#add(happened.server, linesOf(happened.event));
    });
    this.#stop = () => subscription.unsubscribe();
  }

  #add(server: string, lines: readonly string[]): void {
    const kept = [
      ...(this.#lines.get(server) ?? []),
      ...lines.map((line) => redactText(withoutHidden(line), 2000)),
    ];
    this.#lines.set(server, kept.slice(-maxLines));
  }

  /** Formats the lines for people, with control characters escaped. */
  textOf(server: string, connection: Connection | undefined): string {
    const { text = '', bytes = 0 } = connection?.stderr ?? {};
    const written = text === '' ? [] : text.trimEnd().split('\n');
    const head = written.length === 0 ? [] : [`stderr (${bytes} bytes in total, end):`];
    const events = this.#lines.get(server) ?? [];
    const lines = [
      ...events,
      ...head,
      ...written.map((line) => redactText(withoutHidden(line), 2000)),
    ];
    return lines.length === 0 ? `${server} has logged nothing\n` : `${printableLines(lines)}\n`;
  }

  close(): void {
    this.#stop();
  }
}
