/** Asks elicitation requests at the terminal. */
import { validateInput, formFields } from 'mcp-actors/client';
import type { ElicitProvider, FormField, FormProvider, UrlProvider } from 'mcp-actors/client';
import { printable, printableName } from 'mcp-actors/internal';
import type { JsonObject } from 'mcp-actors';

/** The user's terminal. */
export interface Terminal {
  /** Prints a line. */
  say(line: string): void;
  /** Prompts for a line. Rejects if the signal aborts or the input ends. */
  ask(question: string, signal: AbortSignal): Promise<string>;
}

/** Input that refuses a question. */
const refusals = { '!decline': 'decline', '!cancel': 'cancel' } as const;

/**
 * Creates elicitation providers for a terminal. Questions of all servers are asked one at a time.
 *
 * @returns creates the provider of a server
 */
export function terminalElicitation(terminal: Terminal): (server: string) => ElicitProvider {
  let turn: Promise<unknown> = Promise.resolve();
  const serialized =
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
        // The input ended without an answer.
        return '!cancel';
      }),
  };
  return (server) => ({
    form: serialized(formProvider(server, person)),
    url: serialized(urlProvider(server, person)),
  });
}

function formProvider(server: string, { say, ask }: Terminal): FormProvider {
  return async ({ message, requestedSchema }, { signal }) => {
    const { fields, required } = formFields(requestedSchema);
    say(`${printableName(server)} asks: ${printable(message)}`);
    say(
      '(Enter takes the default or skips the field; !decline declines, !cancel cancels the form)',
    );
    const content: { [name: string]: unknown } = {};
    for (const field of fields) {
      for (;;) {
        const line = (await ask(questionOf(field, required.includes(field.name)), signal)).trim();
        if (Object.hasOwn(refusals, line))
          return { action: refusals[line as keyof typeof refusals] };
        const value = line === '' ? field.default : valueOf(field, line);
        if (value === undefined && !required.includes(field.name)) break;
        const fault = value === undefined ? 'is required' : validateInput(field, value);
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
    ...(field.kind === 'choices' ? ['separate several with commas'] : []),
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

/** Finds a choice by value or title. */
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
