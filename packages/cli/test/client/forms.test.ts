import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { answersIn } from '../../src/client/form-answers.ts';
import { terminalElicitation } from '../../src/client/terminal-forms.ts';
import type { FormProvider, UrlProvider } from '../../../client/src/asked/providers.ts';

const schema = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Your name' },
    age: { type: 'integer', minimum: 0 },
    colour: { type: 'string', enum: ['red', 'green'], default: 'red' },
    news: { type: 'boolean' },
  },
  required: ['name'],
};
const form = { message: 'Who are you?', requestedSchema: schema };
const asked = { signal: new AbortController().signal };

/** A person who writes these lines, one for each question. */
function person(...lines: string[]) {
  const seen: string[] = [];
  const ask = (question: string) => {
    seen.push(question);
    const line = lines.shift();
    return line === undefined ? Promise.reject(new Error('gone')) : Promise.resolve(line);
  };
  const elicit = terminalElicitation({ say: (line) => seen.push(line), ask })('lab') as {
    readonly form: FormProvider;
    readonly url: UrlProvider;
  };
  return { elicit, seen };
}

describe('a form in the terminal', () => {
  test('is filled in field by field; what is empty has its default or is left out', async () => {
    const { elicit, seen } = person('Ada', '', '', 'yes');
    expect(await elicit.form(form, asked)).toEqual({
      action: 'accept',
      content: { name: 'Ada', colour: 'red', news: true },
    });
    expect(seen[0]).toBe('lab asks: Who are you?');
    expect(seen.join('\n')).toContain('  Your name: ');
    expect(seen.join('\n')).toContain('  colour (red, green; default: "red"): ');
  });

  test('asks once more for what is missing or wrong, and says why', async () => {
    const { elicit, seen } = person('', 'Ada', '-1', 'old', '36', 'blue', 'green', 'no');
    expect(await elicit.form(form, asked)).toEqual({
      action: 'accept',
      content: { name: 'Ada', age: 36, colour: 'green', news: false },
    });
    const said = seen.filter((line) => /^ {2}\w+ (?:is|must)/.test(line));
    expect(said).toEqual([
      '  name is required',
      '  age must be at least 0, got -1',
      '  age must be a number, got "old"',
      '  colour must be one of "red", "green", got "blue"',
    ]);
  });

  test.each([
    ['!decline', 'decline'],
    ['!cancel', 'cancel'],
  ])('is refused with %s', async (line, action) => {
    const { elicit } = person('Ada', line);
    expect(await elicit.form(form, asked)).toEqual({ action });
  });

  test('is closed if the person leaves', async () => {
    const { elicit } = person('Ada');
    expect(await elicit.form(form, asked)).toEqual({ action: 'cancel' });
    const urlAsked = { ...asked, completed: new Promise<void>(() => {}) };
    expect(await elicit.url({ message: 'Log in', url: 'https://a.example' }, urlAsked)).toBe(
      'cancel',
    );
  });

  test('fails if nobody waits for it any more', async () => {
    const { elicit } = person();
    await expect(elicit.form(form, { signal: AbortSignal.abort() })).rejects.toThrow('gone');
  });

  test('waits until the one before is done', async () => {
    const { elicit, seen } = person('a', '', '', '', 'b', '', '', '');
    const other = { ...form, message: 'And you?' };
    const answers = await Promise.all([elicit.form(form, asked), elicit.form(other, asked)]);
    expect(answers.map(({ content }) => content?.['name'])).toEqual(['a', 'b']);
    const asks = seen.filter((line) => line.includes('asks:'));
    expect(asks).toEqual(['lab asks: Who are you?', 'lab asks: And you?']);
    expect(seen.indexOf('lab asks: And you?')).toBeGreaterThan(4);
  });

  test('shows no control characters of the server', async () => {
    const { elicit, seen } = person('a', '', '', '');
    await elicit.form({ ...form, message: 'Who\u001B[2J?' }, asked);
    expect(seen[0]).toBe('lab asks: Who\\u001b[2J?');
  });

  test('shows a URL whole before it asks', async () => {
    const { elicit, seen } = person('', 'n');
    const request = { message: 'Log in', url: 'https://a.example/x?y=1' };
    const urlAsked = { ...asked, completed: new Promise<void>(() => {}) };
    expect(await elicit.url(request, urlAsked)).toBe('accept');
    expect(await elicit.url(request, urlAsked)).toBe('decline');
    expect(seen[1]).toBe('  https://a.example/x?y=1');
  });
});

describe('answers in a file', () => {
  async function answers(value: unknown) {
    const folder = await mkdtemp(join(tmpdir(), 'answers-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'answers.json');
    await writeFile(file, JSON.stringify(value));
    const told: string[] = [];
    return { provider: () => answersIn(file, (line) => told.push(line)), told };
  }

  test('are for every form, each of which gets the fields that it asks for', async () => {
    const { provider } = await answers({ name: 'Ada', other: 1 });
    const answer = provider();
    const expected = { action: 'accept', content: { name: 'Ada' } };
    expect([answer(form, asked), answer(form, asked)]).toEqual([expected, expected]);
  });

  test('are used in turn if they are a list, and what has none is declined and told', async () => {
    const { provider, told } = await answers([{ name: 'Ada' }, 'cancel']);
    const answer = provider();
    const given = [1, 2, 3].map(() => answer(form, asked));
    expect(given).toEqual([
      { action: 'accept', content: { name: 'Ada' } },
      { action: 'cancel' },
      { action: 'decline' },
    ]);
    expect(told).toEqual([expect.stringContaining('has no answer for request 3')]);
  });

  test.each([3, ['maybe'], [[]]])('%j is refused', async (value) => {
    const { provider } = await answers(value);
    expect(provider).toThrow(/must contain an object/);
  });
});
