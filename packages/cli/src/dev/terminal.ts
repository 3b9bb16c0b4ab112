/** What a person sees of a module in development, on stderr, and the keys that do something. */
import { printable, printableLines, textOfError } from 'mcp-actors/internal';
import type { JsonObject } from 'mcp-actors';
import type { CallObserver, SeenCall } from './developed-upstream.ts';

/** How much of a call's arguments is shown, characters. */
const maxShown = 100;

interface Keys {
  /** Ends the command. */
  end(): void;
}

export class DevTerminal implements CallObserver {
  readonly #showsCalls: boolean;
  #last: SeenCall | undefined = undefined;

  constructor(showsCalls: boolean) {
    this.#showsCalls = showsCalls;
  }

  say(text: string): void {
    process.stderr.write(`mcp-actors dev: ${printableLines(text.split('\n'))}\n`);
  }

  began(call: SeenCall): (outcome: JsonObject | Error) => void {
    this.#last = call;
    const startedAt = performance.now();
    return (outcome) => {
      if (!this.#showsCalls) return;
      const took = Math.round(performance.now() - startedAt);
      this.say(`${inWords(call)} ${took} ms${describeOutcome(outcome)}`);
    };
  }

  /** Takes the keys of a person at the terminal, until the command ends. */
  takeKeys({ end }: Keys): void {
    const { stdin } = process;
    this.say('r repeats the last call, q ends');
    stdin.setRawMode(true);
    stdin.setEncoding('utf8');
    stdin.on('data', (keys: string) => {
      for (const key of keys) {
        if (key === 'r') void this.#repeat();
        // Ctrl-C and Ctrl-D: a terminal in raw mode sends no signals.
        if (key === 'q' || key === '\u0003' || key === '\u0004') {
          stdin.setRawMode(false);
          stdin.pause();
          end();
        }
      }
    });
  }

  async #repeat(): Promise<void> {
    const call = this.#last;
    if (!call) return this.say('there was no call yet');
    try {
      this.say(JSON.stringify(await call.again(), undefined, 2));
    } catch (error) {
      this.say(`${inWords(call)}: ${textOfError(error)}`);
    }
  }
}

function inWords({ method, params = {} }: SeenCall): string {
  const { name, uri, arguments: args } = params;
  const what = typeof name === 'string' ? name : typeof uri === 'string' ? uri : '';
  const given = args === undefined ? '' : ` ${JSON.stringify(args)}`;
  const whole = `${method} ${what}${given}`;
  return printable(whole.length > maxShown ? `${whole.slice(0, maxShown)}…` : whole);
}

function describeOutcome(outcome: JsonObject | Error): string {
  if (outcome instanceof Error) return `, failed: ${outcome.message}`;
  if (outcome['resultType'] === 'input_required') return ', asks the client';
  return outcome['isError'] === true ? ', the tool failed' : '';
}
