import { describe, expect, test } from 'vitest';
import { readArguments } from '../../src/cli/options/arguments.ts';
import type { ServeInvocation } from '../../src/cli/options/arguments.ts';
import { helpText, optionsAbout, topicText } from '../../src/cli/help.ts';
import { defaultOf, optionsTable } from '../../src/cli/options/option.ts';
import type { CommandOption } from '../../src/cli/options/option.ts';
import { options } from '../../src/cli/options/serve-options.ts';
import type { LimitOption } from '../../src/cli/options/serve-options.ts';
import { UsageError, helpTopics } from '../../src/cli/command.ts';
import type { HelpTopic } from '../../src/cli/command.ts';
import { defaultLimits } from '../../src/actors/limits.ts';

const table = Object.entries<CommandOption>(options);
const serveArguments = (args: readonly string[], environment = {}) =>
  readArguments(args, environment) as ServeInvocation;

describe('the table of options', () => {
  test('has exactly one option for every limit', () => {
    const limits = table.flatMap(([, option]) =>
      'limit' in option ? [option.limit as string] : [],
    );
    expect(limits.toSorted()).toEqual(Object.keys(defaultLimits).toSorted());
  });

  test.each(table)(
    '--%s is in the help text of its topic and the documentation, with its default',
    (name, option) => {
      const byDefault = defaultOf(option);
      const topic = helpTopics.find((each) => name in optionsAbout(each));
      expect(topic).toBeDefined();
      const rest = topicText(topic as HelpTopic).split(new RegExp(`^ .*--${name}\\b`, 'm'))[1];
      expect(rest).toBeDefined();
      const paragraph = (rest as string).split(/\n {2}-/)[0]?.replaceAll(/\s+/g, ' ');
      expect(paragraph).toContain(option.help);
      if (byDefault !== undefined) expect(paragraph).toContain(`Default: ${byDefault}.`);
      expect(optionsTable(options)).toMatch(
        new RegExp(`^\\| \`--${name}\\b.*\\| ${byDefault ?? ''} \\|`, 'm'),
      );
    },
  );

  test('makes help texts that fit a terminal, and a first one of one screen', () => {
    const texts = [helpText(), ...helpTopics.map((topic) => topicText(topic))];
    const tooLong = texts.flatMap((text) => text.split('\n')).filter((line) => line.length > 86);
    expect(tooLong).toEqual([]);
    const lines = helpText().trimEnd().split('\n').length;
    expect(lines).toBeGreaterThanOrEqual(24);
    expect(lines).toBeLessThanOrEqual(40);
    for (const topic of helpTopics) expect(helpText()).toContain(`help ${topic}`);
    const named = [...helpText().matchAll(/^ {2}(?:-\w, )?--([a-z-]+)/gm)].map(([, name]) => name);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !(String(name) in options))).toEqual([]);
  });

  test.each(
    table.flatMap(([name, option]) =>
      'limit' in option ? [{ name, option: option as LimitOption }] : [],
    ),
  )('--$name reads its own default and sets its limit', ({ name, option }) => {
    const { limits } = serveArguments([`--${name}`, defaultOf(option) as string]);
    expect(limits).toEqual({ [option.limit]: defaultLimits[option.limit] });
  });
});

describe('the command line', () => {
  test('without anything serves with the defaults', () => {
    expect(readArguments([], {})).toEqual({
      kind: 'serve',
      directories: [],
      place: 'where a command may stand',
      logLevel: 'warning',
      logFile: undefined,
      followRoots: false,
      chdir: false,
      searchTimeoutMs: 20_000,
      inspect: undefined,
      limits: {},
    });
  });

  test.each([
    ['--inspect', { kind: 'page', port: undefined }],
    ['--inspect=7300', { kind: 'page', port: 7300 }],
    ['--inspect=stately', { kind: 'stately' }],
  ])('%s says who looks', (arg, wish) => {
    expect(serveArguments([arg, 'directory'])).toMatchObject({
      inspect: wish,
      directories: ['directory'],
    });
  });

  test.each<[readonly string[], object]>([
    [['help'], { kind: 'help' }],
    [['help', 'serve'], { kind: 'help', topic: 'serve' }],
    [['help', 'limits'], { kind: 'help', topic: 'limits' }],
    [['help', 'check'], { kind: 'command', name: 'check', args: ['--help'] }],
    [['version'], { kind: 'version' }],
    [['./help'], { kind: 'serve', directories: ['./help'] }],
  ])('takes the words of %j', (args, invocation) => {
    expect(readArguments(args, {})).toMatchObject(invocation);
  });

  test('takes "serve" as the command, and only where it comes first', () => {
    expect(serveArguments(['serve', 'a', 'b']).directories).toEqual(['a', 'b']);
    expect(serveArguments(['a', 'serve']).directories).toEqual(['a', 'serve']);
    expect(serveArguments(['./serve']).directories).toEqual(['./serve']);
  });

  test('mixes options and directories, with = or a space, and ends options at --', () => {
    const args = ['a', '--roots-timeout=50ms', '--max-line', '1MiB', '--chdir', '--', '--odd'];
    expect(serveArguments(args)).toMatchObject({
      directories: ['a', '--odd'],
      chdir: true,
      limits: { rootsTimeoutMs: 50, maxLineBytes: 1024 ** 2 },
    });
  });

  test.each([
    ['--help', 'help'],
    ['-h', 'help'],
    ['--version', 'version'],
    ['-V', 'version'],
  ])('%s asks for the %s, whatever else is given', (flag, kind) => {
    expect(readArguments(['dir', flag, '--max-line=nonsense'], {})).toEqual({ kind });
  });

  test('takes the level from the option, then from the environment', () => {
    const environment = { MCP_ACTORS_LOG_LEVEL: 'debug' };
    expect(serveArguments([], environment).logLevel).toBe('debug');
    expect(serveArguments(['--log-level=silent'], environment).logLevel).toBe('silent');
    expect(serveArguments([], { MCP_ACTORS_LOG_LEVEL: '' }).logLevel).toBe('warning');
  });

  test.each<[readonly string[], RegExp]>([
    [['--root-timeout', '5s'], /^Unknown option --root-timeout\. Did you mean --roots-timeout\?/],
    [['--roots'], /Did you mean --roots-timeout\?/],
    [['--nonsense'], /^Unknown option --nonsense\. See mcp-actors --help/],
    [['-x'], /^Unknown option -x\. See mcp-actors --help/],
    [
      ['--log-level', 'loud'],
      /^--log-level: "loud" is not one of debug, info, warning, error, silent$/,
    ],
    [['--log-level'], /^--log-level needs a value, as in --log-level=VALUE$/],
    [['--log-level', '--chdir'], /^--log-level needs a value, as in --log-level=VALUE$/],
    [['--log-file='], /^--log-file needs FILE$/],
    [['--inspect=0'], /^--inspect: "0" is neither a port from 1 to 65535 nor "stately"/],
    [['--inspect=65536'], /^--inspect: "65536" is neither/],
    [['--inspect=0.0.0.0:80'], /^--inspect: "0.0.0.0:80" is neither/],
    [['--chdir=yes'], /^--chdir takes no value, this is "--chdir=yes"$/],
    [['--roots-timeout', 'soon'], /^--roots-timeout: "soon" is not a duration such as 500ms/],
    [['help', 'dctor'], /^There is no command and no topic "dctor"\. Did you mean doctor\?$/],
    [['help', 'nonsense'], /^There is no command and no topic "nonsense"\. See mcp-actors help$/],
    [['--roots-timeout', '5'], /^--roots-timeout: "5" has no unit: write 5ms, 5s or 5min$/],
    [['--roots-timeout', '0'], /^--roots-timeout: "0" is out of range: at least 1ms/],
    [['--roots-timeout', '25d'], /^--roots-timeout: "25d" is not a duration/],
    [['--request-timeout', '600h'], /^--request-timeout: "600h" is out of range/],
    [['--max-line', '1GiB'], /^--max-line: "1GiB" is out of range: .* at most 511MiB/],
    [['--max-running', '1.5'], /^--max-running: "1.5" is not whole/],
  ])('%j is refused with a message that says what to do', (args, message) => {
    const read = () => readArguments(args, {});
    expect(read).toThrow(UsageError);
    expect(read).toThrow(message);
  });

  test('names the environment variable where its value is wrong', () => {
    const read = () => readArguments([], { MCP_ACTORS_LOG_LEVEL: 'chatty' });
    expect(read).toThrow(/^MCP_ACTORS_LOG_LEVEL: "chatty" is not one of/);
  });

  test("a limit that is not given is not set, so that the server's default holds", () => {
    expect(serveArguments(['--max-depth=64']).limits).toEqual({ maxDepth: 64 });
  });
});
