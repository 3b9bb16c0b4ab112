/** Output on stderr and keys for a module in development. */
import { printable, printableLines, textOfError } from 'mcp-actors/internal';
import type { JsonObject } from 'mcp-actors';
import type { CallObserver, SeenCall } from './developed-upstream.ts';

/** Maximum length of a shown call, characters. */
const maxShown = 100;

interface Keys {
  /** Exits the command. */
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
      this.say(`${describeCall(call)} ${took} ms${describeOutcome(outcome)}`);
    };
  }

  /** Handles keys at the terminal until the command ends. */
  takeKeys({ end }: Keys): void {
    const { stdin } = process;
    this.say('r repeats the last call, q ends');
    stdin.setRawMode(true);
    stdin.setEncoding('utf8');
    stdin.on('data', (keys: string) => {
      for (const key of keys) {
        if (key === 'r') void this.#repeat();
        // Ctrl-C and Ctrl-D: in raw mode the terminal sends no signals.
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
    if (!call) return this.say('no call to repeat yet');
    try {
      this.say(JSON.stringify(await call.again(), undefined, 2));
    } catch (error) {
      this.say(`${describeCall(call)}: ${textOfError(error)}`);
    }
  }
}

function describeCall({ method, params = {} }: SeenCall): string {
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
