/** Merges the stderr of several servers, with prefixes and a rate limit per server. */
import { printable } from 'mcp-actors/internal';
import { withoutHidden } from './command.ts';

/** Maximum lines per server and second; further lines are counted. */
const maxLines = 20;
/** Maximum length of a line, characters. */
const longestLine = 2000;
/** Maximum unread bytes of stderr; further output is dropped. */
const maxUnreadBytes = 1024 ** 2;

interface Writing {
  written: number;
  leftOut: number;
}

/** Writes a server's lines to our stderr unchanged. The last one has no line feed. */
export function passOn(text: string): void {
  if (process.stderr.writableLength < maxUnreadBytes) {
    process.stderr.write(`${withoutHidden(text)}\n`);
  }
}

/** Accepts whole lines of several servers, the last without its line feed. */
export class StderrLines {
  readonly #write: (text: string) => void;
  readonly #servers = new Map<string, Writing>();

  constructor(write: (text: string) => void = passOn) {
    this.#write = write;
  }

  take(server: string, text: string): void {
    const writing = this.#servers.get(server) ?? this.#begin(server);
    for (const line of text.split('\n')) {
      if (writing.written >= maxLines) writing.leftOut++;
      else {
        writing.written++;
        this.#write(`[${printable(server)}] ${printable(line.trimEnd(), longestLine)}`);
      }
    }
  }

  #begin(server: string): Writing {
    const writing: Writing = { written: 0, leftOut: 0 };
    setTimeout(() => this.#next(server, writing), 1000).unref();
    this.#servers.set(server, writing);
    return writing;
  }

  /** Ends a one-second window. */
  #next(server: string, { leftOut }: Writing): void {
    this.#servers.delete(server);
    if (leftOut > 0) this.#write(`[${printable(server)}] … ${leftOut} more lines in this second`);
  }
}
