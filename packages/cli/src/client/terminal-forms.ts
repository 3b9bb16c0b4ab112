/** A server's questions, asked of the person at the terminal. */
import { validateInput, formFields } from 'mcp-actors/client';
import type { ElicitProvider, FormField, FormProvider, UrlProvider } from 'mcp-actors/client';
import { printable, printableName } from 'mcp-actors/internal';
import type { JsonObject } from 'mcp-actors';

/** The person's terminal. */
export interface Terminal {
  /** Shows a line. */
  say(line: string): void;
  /** Asks for a line. Rejects if the signal is aborted, or the input has ended. */
  ask(question: string, signal: AbortSignal): Promise<string>;
}

/** What the person writes to refuse a question. */
const refusals = { '!decline': 'decline', '!cancel': 'cancel' } as const;

/**
 * Asks the person at a terminal, one question after the other across all servers.
 *
 * @returns makes the provider for the named server
 */
export function personAt(terminal: Terminal): (server: string) => ElicitProvider {
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn =
    <T, A, R>(provider: (request: T, asked: A) => R | Promise<R>) =>
    (request: T, asked: A): Promise<R> => {
      const answer = turn.then(() => provider(request, asked));
      turn = answer.catch(() => {});
      return answer;
    };
  const person: Terminal = {
    say: (line) => terminal.say(line),
    ask: (question, signal) =>
      terminal.ask(question, signal).catch((error: unknown) => {
        if (signal.aborted) throw error;
        // The input has ended: the person has left without an answer.
        return '!cancel';
      }),
  };
  return (server) => ({
    form: inTurn(formProvider(server, person)),
    url: inTurn(urlProvider(server, person)),
  });
}

function formProvider(server: string, { say, ask }: Terminal): FormProvider {
  return async ({ message, requestedSchema }, { signal }) => {
    const { fields, required } = formFields(requestedSchema);
    say(`${printableName(server)} asks: ${printable(message)}`);
    say(
      '(an empty line takes the default or leaves it out; !decline refuses, !cancel closes the form)',
    );
    const content: { [name: string]: unknown } = {};
    for (const field of fields) {
      for (;;) {
        const line = (await ask(questionOf(field, required.includes(field.name)), signal)).trim();
        if (Object.hasOwn(refusals, line))
          return { action: refusals[line as keyof typeof refusals] };
        const value = line === '' ? field.default : valueOf(field, line);
        if (value === undefined && !required.includes(field.name)) break;
        const fault = value === undefined ? 'is needed' : validateInput(field, value);
        if (fault === undefined) {
          content[field.name] = value;
          break;
        }
        say(`  ${printableName(field.name)} ${fault}`);
      }
    }
    return { action: 'accept', content: content as JsonObject };
  };
}

function questionOf(field: FormField, isRequired: boolean): string {
  const { name, title, description, default: byDefault } = field;
  const notes = [
    ...(description === undefined ? [] : [printable(description, 300)]),
    ...('options' in field
      ? [
          field.options
            .map(({ value, title: text }) => (text ? `${value} (${text})` : value))
            .join(', '),
        ]
      : []),
    ...(field.kind === 'boolean' ? ['yes or no'] : []),
    ...(field.kind === 'choices' ? ['several with commas'] : []),
    ...(byDefault === undefined ? [] : [`default: ${JSON.stringify(byDefault)}`]),
    ...(isRequired || byDefault !== undefined ? [] : ['optional']),
  ];
  const hint = notes.length === 0 ? '' : ` (${printable(notes.join('; '), 600)})`;
  return `  ${printableName(title ?? name)}${hint}: `;
}

function valueOf(field: FormField, line: string): unknown {
  switch (field.kind) {
    case 'number':
    case 'integer':
      return /^[-+]?\d/.test(line) && !Number.isNaN(Number(line)) ? Number(line) : line;
    case 'boolean':
      return /^(?:y|yes|true)$/i.test(line) ? true : /^(?:n|no|false)$/i.test(line) ? false : line;
    case 'choices':
      return line.split(',').map((part) => optionOf(field, part.trim()));
    case 'choice':
      return optionOf(field, line);
    case 'text':
      return line;
  }
}

/** A choice may be written by its title. */
function optionOf(
  { options }: Extract<FormField, { readonly options: unknown }>,
  written: string,
): string {
  const found = options.find(({ value, title }) => value === written || title === written);
  return found?.value ?? written;
}

function urlProvider(server: string, { say, ask }: Terminal): UrlProvider {
  return async ({ message, url }, { signal }) => {
    say(`${printableName(server)} asks you to open a page: ${printable(message)}`);
    say(`  ${printable(url)}`);
    const line = await ask(
      'Open it in your browser if you trust it, then press Enter (n: no): ',
      signal,
    );
    const written = line.trim();
    if (Object.hasOwn(refusals, written)) return refusals[written as keyof typeof refusals];
    return /^n/i.test(written) ? 'decline' : 'accept';
  };
}
