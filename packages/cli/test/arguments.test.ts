import { describe, expect, test } from 'vitest';
import { readArguments } from '../src/options/arguments.ts';
import type { ServeInvocation } from '../src/options/arguments.ts';
import { helpText, optionsAbout, topicText } from '../src/help.ts';
import { defaultOf, optionsTable } from '../src/options/option.ts';
import type { CommandOption } from '../src/options/option.ts';
import { flagsOfLimits, options, sessionLimits } from '../src/options/serve-options.ts';
import { UsageError, helpTopics } from '../src/command.ts';
import type { HelpTopic } from '../src/command.ts';
import { defaultHttpLimits } from 'mcp-actors/http';
import { defaultLimits } from 'mcp-actors';

const table = Object.entries<CommandOption>(options);
const serveArguments = (args: readonly string[], environment = {}) =>
  readArguments(['workspace', ...args], environment) as ServeInvocation;

describe('the table of options', () => {
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

  test.each(Object.entries(options.limit.quantities))(
    '--limit %s takes its own default as it is written, and sets that limit',
    (name, quantity) => {
      const given = ['--http', '1', '--limit', `${name}=${defaultOf(quantity)}`];
      const { limits, http } = serveArguments(given);
      const all: { readonly [name: string]: number } = {
        ...defaultLimits,
        ...Object.fromEntries(
          Object.entries(defaultHttpLimits).map(([each, value]) => [`http.${each}`, value]),
        ),
      };
      const [endpoint, session] = [http?.limits, limits].map((each) => Object.entries(each ?? {}));
      const bare = name.replace('http.', '');
      expect(name.startsWith('http.') ? endpoint : session).toEqual([[bare, all[name]]]);
      expect(name.startsWith('http.') ? session : endpoint).toEqual([]);
    },
  );

  test('every limit of a session and of the endpoint has a name, and the help tells of it', () => {
    const names = Object.keys(options.limit.quantities);
    expect(names.toSorted()).toEqual(
      [
        ...Object.keys(defaultLimits),
        ...Object.keys(defaultHttpLimits).map((name) => `http.${name}`),
      ].toSorted(),
    );
    const help = topicText('limits') + topicText('http');
    expect(names.filter((name) => !help.includes(`\n  ${name}=`))).toEqual([]);
    for (const { help: text } of Object.values(sessionLimits)) {
      expect(topicText('limits').replaceAll(/\s+/g, ' ')).toContain(text);
    }
  });

  test.each(Object.entries(flagsOfLimits))('--%s sets the limit %s', (flag, name) => {
    const written = defaultOf(options.limit.quantities[name] as CommandOption);
    const limit = serveArguments(['--http', '1', '--limit', `${name}=${written}`]);
    expect(serveArguments(['--http', '1', `--${flag}=${written}`])).toEqual(limit);
    expect(() => serveArguments([`--${flag}=${written}`, '--limit', `${name}=${written}`])).toThrow(
      `--${flag} and --limit ${name} set the same limit: use only one`,
    );
  });
});

describe('the command line', () => {
  test('without anything prints the usage', () => {
    expect(readArguments([], {})).toEqual({ kind: 'usage' });
  });

  test('serves a workspace with the defaults', () => {
    expect(serveArguments([])).toEqual({
      kind: 'workspace',
      paths: [],
      logLevel: 'warning',
      logFile: undefined,
      followRoots: false,
      chdir: false,
      searchTimeoutMs: 20_000,
      inspect: undefined,
      unsupervised: false,
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
      paths: ['directory'],
    });
  });

  test.each<[readonly string[], object]>([
    [['help'], { kind: 'help' }],
    [['help', 'serve'], { kind: 'help', topic: 'serve' }],
    [['help', 'limits'], { kind: 'help', topic: 'limits' }],
    [['help', 'check'], { kind: 'command', name: 'check', args: ['--help'] }],
    [['version'], { kind: 'version' }],
    [['workspace', './help'], { kind: 'workspace', paths: ['./help'] }],
    [['serve', 'main.ts'], { kind: 'serve', paths: ['main.ts'] }],
  ])('takes the words of %j', (args, invocation) => {
    expect(readArguments(args, {})).toMatchObject(invocation);
  });

  test('takes a command word only where it comes first', () => {
    expect(serveArguments(['a', 'serve']).paths).toEqual(['a', 'serve']);
  });

  test.each<[readonly string[], RegExp]>([
    [['dctor'], /^There is no command "dctor"\. Did you mean doctor\?$/],
    [['/'], /^There is no command "\/"\. To serve directories: mcp-actors workspace \/$/],
    [['./gone'], /^There is no command "\.\/gone"\. See mcp-actors help$/],
    [
      ['--chdir'],
      /^A command must come first\. To serve directories: mcp-actors workspace --chdir$/,
    ],
  ])('rejects %j, which begins with no command', (args, message) => {
    expect(() => readArguments(args, {})).toThrow(message);
  });

  test('mixes options and directories, with = or a space, and ends options at --', () => {
    const args = [
      'a',
      '--limit=rootsRetryMs=50ms',
      '--limit',
      'maxLineBytes=1MiB',
      '--chdir',
      '--',
      '--odd',
    ];
    expect(serveArguments(args)).toMatchObject({
      paths: ['a', '--odd'],
      chdir: true,
      limits: { rootsRetryMs: 50, maxLineBytes: 1024 ** 2 },
    });
  });

  test.each([
    ['--help', 'help'],
    ['-h', 'help'],
    ['--version', 'version'],
    ['-V', 'version'],
  ])('%s asks for the %s, whatever else is given', (flag, kind) => {
    expect(readArguments(['dir', flag, '--limit=nonsense'], {})).toEqual({ kind });
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
      /^--log-level must be one of debug, info, warning, error, silent, got "loud"$/,
    ],
    [['--log-level'], /^--log-level needs a value, as in --log-level=VALUE$/],
    [['--log-level', '--chdir'], /^--log-level needs a value, as in --log-level=VALUE$/],
    [['--log-file='], /^--log-file needs FILE$/],
    [['--inspect=0'], /^--inspect must be a port from 1 to 65535, "stately" or .*, got "0"/],
    [['--inspect=65536'], /^--inspect must be .*, got "65536"/],
    [['--inspect=0.0.0.0:80'], /^--inspect must be .*, got "0.0.0.0:80"/],
    [['--chdir=yes'], /^--chdir takes no value, got "--chdir=yes"$/],
    [['--roots-timeout', 'soon'], /^--roots-timeout must be a duration such as 500ms/],
    [['help', 'dctor'], /^Unknown command or topic "dctor"\. Did you mean doctor\?$/],
    [['help', 'nonsense'], /^Unknown command or topic "nonsense"\. See mcp-actors help$/],
    [
      ['--roots-timeout', '5'],
      /^--roots-timeout must have a unit, got "5": write 5ms, 5s or 5min$/,
    ],
    [['--roots-timeout', '0'], /^--roots-timeout must be 1ms to /],
    [['--roots-timeout', '25d'], /^--roots-timeout must be a duration/],
    [
      ['--limit', 'requestTimeoutMs=600h'],
      /^--limit requestTimeoutMs must be 1ms to .*, got "600h"/,
    ],
    [['--limit', 'maxLineBytes=1GiB'], /^--limit maxLineBytes must be .* to 511MiB, got "1GiB"/],
    [['--limit', 'maxPending'], /^--limit must be NAME=VALUE, got "maxPending"$/],
    [['--limit'], /^--limit needs a value, as in --limit=VALUE$/],
    [['--limit', 'zzz=1'], /^--limit: unknown limit "zzz"\. See mcp-actors help limits$/],
    [
      ['--limit', 'maxPendin=1'],
      /^--limit: unknown limit "maxPendin"\. Did you mean maxPending\?$/,
    ],
    [['--limit', 'toString=1'], /^--limit: unknown limit "toString"\./],
    [['--limit=maxTasks=1', '--limit=maxTasks=2'], /^--limit maxTasks must not be given twice$/],
    [['--max-pending', '5'], /^Unknown option --max-pending\. Write --limit maxPending=VALUE$/],
    [['--max-waiting-size=1'], /Write --limit maxWaitingBytes=VALUE$/],
    [['--max-logs=1'], /Write --limit maxLogsPerSecond=VALUE$/],
    [['--event-ttl=1min'], /Write --limit http\.eventTtlMs=VALUE$/],
    [['--max-running', '1.5'], /^--max-running must be whole/],
  ])('%j is refused with a message that says what to do', (args, message) => {
    const read = () => readArguments(args[0] === 'help' ? args : ['workspace', ...args], {});
    expect(read).toThrow(UsageError);
    expect(read).toThrow(message);
  });

  test('names the environment variable where its value is wrong', () => {
    const read = () => readArguments(['workspace'], { MCP_ACTORS_LOG_LEVEL: 'chatty' });
    expect(read).toThrow(/^MCP_ACTORS_LOG_LEVEL must be one of .*, got "chatty"/);
  });

  test("a limit that is not given is not set, so that the server's default holds", () => {
    expect(serveArguments(['--limit=maxDepth=64']).limits).toEqual({ maxDepth: 64 });
  });
});
