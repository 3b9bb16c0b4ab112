/**
 * Hosts that read the file written by `config --write`: each offers its tools to a model and calls
 * one. And a host that calls a server while `dev` reloads it.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fetchRuntime } from '../../scripts/npm.ts';
import { FakeModel } from './fake-model.ts';
import { installed, run, versionOf } from './hosts.ts';
import type { Bench } from './hosts.ts';
import type { Check } from './scenario.ts';
import { greeting } from './subject.ts';

interface WritingHost {
  /** Name in `mcp-actors config`. */
  readonly host: string;
  readonly title: string;
  /** Path of its file in the home directory. */
  readonly file: string;
  /**
   * Initial content of the file.
   *
   * @param model URL of the model
   */
  before(model: string): string;
  /**
   * Environment of the host.
   *
   * @param model URL of the model
   */
  environment?(model: string): NodeJS.ProcessEnv;
  /** Arguments for one prompt without interaction. */
  readonly args: readonly string[];
  /** Path of the program, or the reason it cannot run. */
  program(bench: Bench): { readonly path?: string; readonly missing?: string };
}

const prompt = 'Read greeting.txt';

/** A comment that must survive. */
const remark = 'Chosen by hand';

const hosts: readonly WritingHost[] = [
  {
    host: 'claude-code',
    title: `Claude Code ${versionOf('@anthropic-ai/claude-code')}`,
    file: '.claude.json',
    before: () => '{ "hasCompletedOnboarding": true }',
    environment: (model) => ({
      ANTHROPIC_BASE_URL: model,
      ANTHROPIC_API_KEY: 'fake',
      ENABLE_TOOL_SEARCH: 'false',
      // By default its model gets the tool list after 5 s, without servers that have not started by
      // then.
      MCP_CONNECT_TIMEOUT_MS: '120000',
    }),
    args: ['--print', prompt, '--allowedTools', 'mcp__project-files__read_file'],
    program: () => ({ path: installed('@anthropic-ai/claude-code', 'cli-wrapper.cjs') }),
  },
  {
    host: 'gemini',
    title: `Gemini CLI ${versionOf('@google/gemini-cli')}`,
    file: '.gemini/settings.json',
    before: () => `{
  // ${remark}
  "security": { "auth": { "selectedType": "gemini-api-key" } }
}
`,
    environment: (model) => ({ GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: 'fake' }),
    args: ['--approval-mode', 'yolo', '--model', 'gemini-2.5-flash', '--prompt', prompt],
    program: () => ({ path: installed('@google/gemini-cli', 'bundle/gemini.js') }),
  },
];

/** Only downloaded on request: 600 MB together. */
const large: readonly WritingHost[] = [
  {
    host: 'codex',
    title: 'Codex 0.171.0',
    file: '.codex/config.toml',
    // Makes the host wait for a server. The entry must survive.
    before: (model) => `# ${remark}
model = "fake"
model_provider = "fake"

[model_providers.fake]
name = "fake"
base_url = "${model}/v1"
wire_api = "responses"

[mcp_servers.project-files]
required = true
`,
    args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
    program: () => packaged('@openai/codex@0.171.0', '@openai/codex/bin/codex.js'),
  },
  {
    host: 'opencode',
    title: 'opencode 1.18.33',
    file: '.config/opencode/opencode.json',
    before: (model) => `{
  // ${remark}
  "model": "fake/fake",
  "provider": {
    "fake": {
      "npm": "@ai-sdk/openai-compatible",
      "options": { "baseURL": "${model}/v1", "apiKey": "fake" },
      "models": { "fake": { "name": "fake" } }
    }
  },
  "autoupdate": false
}
`,
    args: ['run', prompt],
    program: () =>
      packaged(
        `opencode-linux-${process.arch}@1.18.33`,
        `opencode-linux-${process.arch}/bin/opencode`,
      ),
  },
];

/** A file of a package fetched by npm for this check. */
function packaged(name: string, file: string) {
  const tellPath = [
    'node',
    '--print',
    `process.env.PATH.split(':').map((bin) => require('path').join(bin, '..', '${file}')).find(require('fs').existsSync)`,
  ] as const;
  return fetchRuntime({ package: name, tellPath });
}

/**
 * Checks for each host.
 *
 * @param missing reason the hosts of the lockfile cannot be tested
 */
export function writtenChecks(
  bench: Bench,
  missing: string | undefined,
  isLarge: boolean,
): readonly Check[] {
  const checkOf = (host: WritingHost, why: string | undefined): Check => ({
    name: `${host.title}, reads what config --write has written: lists, calls; --remove takes it out`,
    missing: why,
    run: () => faultsOf(host, bench),
  });
  const why = isLarge ? undefined : 'it is large: npm run lab -- hosts --large';
  return [
    ...hosts.map((host) => checkOf(host, missing)),
    ...large.map((host) => checkOf(host, why ?? host.program(bench).missing)),
  ];
}

/** Claude Code calling a tool while its module is saved, including a version that fails to load. */
export function devCheck(bench: Bench, missing: string | undefined): Check {
  return {
    name: `${hosts[0]?.title}, calls what dev serves: the newest code, or why it cannot be used`,
    missing,
    run: () => faultsOfDev(bench),
  };
}

async function faultsOfDev(bench: Bench): Promise<readonly string[]> {
  const { app, home: parent } = bench.subject;
  const home = join(parent, 'dev');
  mkdirSync(home, { recursive: true });
  const file = join(app, 'developed.mjs');
  const save = (text: string) => () =>
    writeFileSync(
      file,
      `import { createMcpServer, defineTool } from 'mcp-actors';
export default createMcpServer({ name: 'mine', version: '1', tools: [
  defineTool({ name: 'say', description: 'Says it.', handler: () => ${text} }),
] });
`,
    );
  const first = save(`'the first'`);
  const model = await FakeModel.start({
    tool: /mine.*say$/,
    args: {},
    before: [first, save(`'the second'`), save(`= 'broken'`), () => {}],
  });
  try {
    first();
    const [claude] = hosts as readonly [WritingHost];
    const args = ['-y', '@mcp-actors/cli', 'dev', file];
    const config = JSON.stringify({ mcpServers: { mine: { command: 'npx', args } } });
    const allowed = ['--allowedTools', 'mcp__mine__say'];
    const said = await run(
      bench,
      [claude.program(bench).path ?? '', '--print', prompt, '--mcp-config', config, ...allowed],
      bench.node,
      { ...claude.environment?.(model.url), HOME: home },
    );
    const handed = [...model.handed];
    const wanted = [/the first/, /the second/, /CODE_FAILED.*developed\.mjs/s];
    const isAsWanted = wanted.every((pattern, at) => pattern.test(handed[at] ?? ''));
    return isAsWanted ? [] : [`The model is handed ${handed.join('; ')}: ${said}`];
  } finally {
    model.close();
  }
}

async function faultsOf(host: WritingHost, bench: Bench): Promise<readonly string[]> {
  const { subject } = bench;
  const home = join(subject.home, host.host);
  const file = join(home, host.file);
  const model = await FakeModel.start({
    tool: /project.files.*read_file$/,
    args: { path: 'greeting.txt' },
  });
  try {
    const user = { HOME: home, XDG_CONFIG_HOME: undefined };
    const before = host.before(model.url);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, before);
    const config = (...args: readonly string[]) =>
      run(bench, [subject.command, 'config', ...args], bench.node, user);
    const { path = '' } = host.program(bench);
    const start = /\.c?js$/.test(path) ? [bench.node, path] : [path];
    const [program = '', ...first] = start;
    const ask = () =>
      run(bench, [...first, ...host.args], program, { ...user, ...host.environment?.(model.url) });
    const wrote = await config('--write', host.host, '--yes', subject.project);
    const said = await ask();
    const seen = [...model.tools].filter((name) => /project.files/.test(name));
    const handed = [...model.handed].join('\n');
    const checked = await config('--check', host.host);
    model.forget();
    const removed = await config('--remove', host.host, '--yes');
    await ask();
    const left = [...model.tools].filter((name) => /project.files.*read_file/.test(name));
    const text = readFileSync(file, 'utf8');
    return [
      ...(seen.length >= 5 ? [] : [`It lists ${seen.join(', ')} after ${wrote}: ${said}`]),
      ...(handed.includes(greeting) ? [] : [`The model is handed ${handed}: ${said}`]),
      ...(checked.includes('configured, and it starts') ? [] : [checked]),
      ...(left.length === 0 ? [] : [`After --remove it lists ${left.join(', ')}: ${removed}`]),
      ...(before.includes(remark) && !text.includes(remark) ? [`The remark is lost: ${text}`] : []),
    ];
  } finally {
    model.close();
  }
}
