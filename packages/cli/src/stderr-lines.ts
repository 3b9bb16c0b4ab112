/** What many servers write to stderr, on one: each line with its server, and only so many of each. */
import { printable } from 'mcp-actors/internal';
import { withoutHidden } from './command.ts';

/** How many lines of one server are written in a second; the rest are counted. */
const maxLines = 20;
/** The longest line, characters. */
const longestLine = 2000;
/** How much may wait for the reader of stderr, bytes; what servers write past it is dropped. */
const maxUnreadBytes = 1024 ** 2;

interface Writing {
  written: number;
  leftOut: number;
}

/** Writes lines of one server's stderr to our own, unchanged. The last one comes without its line feed. */
export function passOn(text: string): void {
  if (process.stderr.writableLength < maxUnreadBytes) {
    process.stderr.write(`${withoutHidden(text)}\n`);
  }
}

/** Takes whole lines of many servers, the last without its line feed. */
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

  /** Ends a second. */
  #next(server: string, { leftOut }: Writing): void {
    this.#servers.delete(server);
    if (leftOut > 0) this.#write(`[${printable(server)}] … ${leftOut} more lines in this second`);
  }
}
