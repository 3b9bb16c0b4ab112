/** The layers of `src/`, from the ground up, and a reader of the imports that hold them. */
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path/posix';
import { fileURLToPath } from 'node:url';

export interface Layer {
  /** For the page on the architecture. */
  readonly holds: string;
  /** The layers below it that it may import. */
  readonly imports: readonly string[];
  /** The packages it may import, subpaths included. */
  readonly packages?: readonly string[];
  /** Whether it may import Node's modules. The session core runs without Node. */
  readonly node?: true;
}

const core = ['protocol', 'machines', 'actors'];
/** What a server's sessions are made of, for those who stand on it. */
export const runtime = [
  ...core,
  'schema',
  'context',
  'define',
  'transports',
  'session',
  'features',
  'server',
];
const roomsOf = (...rooms: string[]): string[] => rooms.map((room) => `workspace/${room}`);

/** By path below `src/`; the longest path that a file begins with is its layer. A layer names only layers that stand above it in this table. */
export const layers: { readonly [path: string]: Layer } = {
  protocol: { holds: 'pure data: frames, codec, errors, dialects', imports: [] },
  machines: { holds: 'when something may happen', imports: ['protocol'], packages: ['xstate'] },
  actors: {
    holds: 'what is done: reader, router, correlation, writer',
    imports: ['protocol', 'machines'],
    packages: ['xstate'],
  },
  rounds: {
    holds: 'calls that ask their client by ending, and go on with a retry',
    imports: core,
    packages: ['jose'],
  },
  schema: {
    holds: 'schemas as authors write them; forms',
    imports: ['protocol', 'actors'],
    packages: ['@standard-schema/spec'],
  },
  context: { holds: 'what a handler gets', imports: [...core, 'schema'] },
  define: {
    holds: 'what a server offers, as its author writes it',
    imports: ['protocol', 'machines', 'schema', 'context'],
    packages: ['uri-template', 'xstate'],
  },
  transports: {
    holds: "stdio, memory, the official SDK's transports",
    imports: core,
    packages: ['xstate'],
  },
  diagnosis: {
    holds: "a session's dump, its causes, what is secret",
    imports: core,
    packages: ['xstate'],
  },
  log: { holds: 'facts as lines, at a bounded rate', imports: ['protocol', 'actors', 'diagnosis'] },
  session: {
    holds: 'one session: its scope, its environment, its streams',
    imports: [...core, 'rounds', 'context', 'transports', 'log'],
    packages: ['xstate'],
  },
  features: {
    holds: 'tools, resources, prompts, completion, tasks',
    imports: [...core, 'rounds', 'schema', 'context', 'define', 'session'],
    packages: ['xstate'],
  },
  server: {
    holds: 'the composition: from definition to server to session',
    imports: [
      ...core,
      'rounds',
      'schema',
      'context',
      'define',
      'transports',
      'diagnosis',
      'session',
      'features',
    ],
    packages: ['xstate'],
  },
  'http/nodes': {
    holds: 'what the nodes of an HTTP endpoint share: sessions, events, letters; in memory',
    imports: ['protocol', 'actors'],
  },
  'http/auth': {
    holds: 'who makes an HTTP request: tokens, challenges, the metadata of the resource',
    imports: ['protocol', 'actors'],
    packages: ['jose'],
  },
  redis: {
    holds: 'what the nodes share, in Redis; an entry of its own',
    imports: ['protocol', 'actors', 'http/nodes'],
    packages: ['redis'],
    node: true,
  },
  'client/channel': {
    holds: 'what a connection asks of each way to a server; the official SDK transports',
    imports: [...core, 'transports'],
  },
  'client/http': {
    holds: "a connection's way to a server over HTTP, in both eras",
    imports: [...core, 'schema', 'diagnosis', 'client/channel'],
    packages: ['eventsource-parser', 'xstate'],
  },
  'client/lists': {
    holds: 'what a server offers, kept as new as it says, and its subscriptions',
    imports: [...core, 'schema', 'session'],
    packages: ['xstate'],
  },
  'client/asked': {
    holds: 'what a server asks its host, and the rounds of a call that asks',
    imports: [...core, 'schema'],
  },
  'client/connection': {
    holds: "a host's connection to one server: its requests, its eras, its losses",
    imports: [
      ...core,
      'transports',
      'diagnosis',
      'session',
      'client/channel',
      'client/lists',
      'client/asked',
    ],
    packages: ['xstate'],
  },
  recording: {
    holds: 'a session or a connection written down, and played again',
    imports: [
      ...runtime,
      'rounds',
      'diagnosis',
      'client/channel',
      'client/asked',
      'client/connection',
    ],
    packages: ['xstate'],
    node: true,
  },
  processes: {
    holds: 'processes that serve us: how they are launched, and how nothing of them is left',
    imports: core,
    packages: ['xstate', 'cross-spawn'],
    node: true,
  },
  // It knows a server by its wire alone.
  check: {
    holds: 'plays a client against any server',
    imports: [...core, 'processes'],
    packages: ['xstate'],
    node: true,
  },
  'client/stdio': {
    holds:
      "a connection's way to a server that is launched as a process; the same for official clients",
    imports: [...core, 'transports', 'processes', 'client/channel'],
    packages: ['xstate'],
    node: true,
  },
  opentelemetry: {
    holds: 'spans and durations; an entry of its own',
    imports: runtime,
    packages: ['@opentelemetry/api'],
  },
  inspect: {
    holds:
      'the page, the official inspector, diagrams; an entry of its own, which exports the recording too',
    imports: [...runtime, 'diagnosis', 'recording', 'client/connection'],
    packages: ['xstate', 'preact', '@statelyai/inspect', '#inspect-page'],
    node: true,
  },
  'workspace/disk': {
    holds: 'the file system, so that a dead mount stops nobody',
    imports: ['actors'],
    node: true,
  },
  'workspace/roots': {
    holds: 'directories and paths inside them, checked',
    imports: [...runtime, 'workspace/disk'],
    node: true,
  },
  'workspace/text': { holds: 'the text of files', imports: ['workspace/disk'], node: true },
  'workspace/globs': { holds: 'globs', imports: ['protocol', 'actors'] },
  'workspace/search': {
    holds: 'ripgrep, bounded',
    imports: ['protocol', ...roomsOf('disk', 'roots', 'text', 'globs')],
    packages: ['@vscode/ripgrep'],
    node: true,
  },
  'workspace/project': {
    holds: 'which project a session works in, and its facts',
    imports: [...runtime, ...roomsOf('disk', 'roots', 'text', 'globs', 'search')],
    node: true,
  },
  'workspace/tools': {
    holds: 'the tools that a model sees',
    imports: [...runtime, ...roomsOf('disk', 'roots', 'text', 'globs', 'search', 'project')],
    node: true,
  },
  workspace: {
    holds: 'the built-in workspace server',
    imports: [...runtime, ...roomsOf('roots', 'project', 'tools')],
  },
  roots: {
    holds: "the client's roots for one's own server; an entry of its own",
    imports: ['protocol', 'machines', ...roomsOf('disk', 'roots', 'text')],
    node: true,
  },
  http: {
    holds: 'a server over HTTP, on one endpoint for both eras; an entry of its own',
    imports: [...runtime, 'http/auth', 'http/nodes'],
    packages: ['xstate'],
  },
  'http/node': {
    holds: "an HTTP endpoint on node's own server; an entry of its own",
    imports: ['protocol', 'actors', 'http'],
    node: true,
  },
  serve: {
    holds: 'a server as a process, and over HTTP; an entry of its own',
    imports: [...runtime, 'diagnosis', 'log', 'http', 'http/node'],
    node: true,
  },
  'client/auth': {
    holds: "a host's logins: when, once, and where what comes of them is kept",
    imports: [...core, 'diagnosis', 'client/http'],
    packages: ['xstate', '@modelcontextprotocol/client'],
    node: true,
  },
  'client/hosts': {
    holds: 'many servers: their file, the names of their tools, who of them runs',
    imports: [...core, 'diagnosis', 'session', 'client/lists', 'client/connection'],
    packages: ['jsonc-parser', 'xstate'],
    node: true,
  },
  client: {
    holds: "a host's connections, whatever way leads to the server; an entry of its own",
    imports: [
      ...core,
      'diagnosis',
      'client/channel',
      'client/lists',
      'client/asked',
      'client/connection',
      'processes',
      'client/stdio',
      'client/http',
      'client/auth',
      'client/hosts',
    ],
  },
  testing: {
    holds: 'the test kit; an entry of its own',
    imports: [...runtime, 'recording', 'http/nodes', 'client/auth'],
    packages: ['xstate'],
  },
  cli: {
    holds: 'the command',
    imports: [
      ...runtime,
      'diagnosis',
      'log',
      'http',
      'http/nodes',
      'redis',
      'serve',
      'recording',
      'inspect',
      'workspace',
      'workspace/search',
      'check',
      'client',
      'client/asked',
      'client/auth',
      'client/connection',
      'client/hosts',
    ],
    node: true,
  },
  'cli.ts': { holds: "the command's first module", imports: ['protocol', 'cli'] },
  'index.ts': { holds: 'the names of `mcp-actors`', imports: [...runtime, 'diagnosis'] },
};

/** RxJS is for the reader's pipeline, the transports that feed it, and the observables at the public edge. */
const importsRxjs = (file: string): boolean =>
  /(?:reader\.actor|\.observable|transports\/memory|transports\/stdio)\.ts$/.test(file);

export interface Import {
  /** Below `src/`. */
  readonly from: string;
  /** A file below `src/`, or a package as it is written. */
  readonly to: string;
  readonly isFile: boolean;
}

/** The layer of a file, by its path below `src/`. */
function layerOf(file: string, table = layers): string | undefined {
  return Object.keys(table)
    .filter((path) => file === path || file.startsWith(`${path}/`))
    .sort((a, b) => b.length - a.length)[0];
}

/** Every import of a source: of values and types, re-exports and dynamic ones. Each stands at the start of a line, as the formatter leaves it. */
export function importsIn(file: string, source: string): Import[] {
  const statements = source.matchAll(
    /^(?:import|export)\s(?:[^'`;]*?\sfrom\s)?\s*'([^'\n]+)'|\bimport\(\s*'([^'\n]+)'/gm,
  );
  return [...statements].map(([, fixed, dynamic]) => {
    const to = fixed ?? dynamic ?? '';
    const isFile = to.startsWith('.');
    return { from: file, to: isFile ? normalize(join(dirname(file), to)) : to, isFile };
  });
}

/** What a layer forbids of an import; undefined if it is allowed. */
export function faultOf({ from, to, isFile }: Import, table = layers): string | undefined {
  const layer = layerOf(from, table);
  const rules = layer === undefined ? undefined : table[layer];
  if (layer === undefined || !rules) return `${from} is in no layer`;
  if (isFile) {
    const target = layerOf(to, table);
    if (target === layer || rules.imports.includes(target ?? '')) return undefined;
    return `${from} imports ${to}: ${layer} may import ${rules.imports.join(', ') || 'nothing'}`;
  }
  if (to.startsWith('node:')) {
    return rules.node ? undefined : `${from} imports ${to}: ${layer} runs without Node`;
  }
  const name = to.split('/', to.startsWith('@') ? 2 : 1).join('/');
  if (name === 'rxjs') {
    return importsRxjs(from) ? undefined : `${from} imports rxjs: see importsRxjs`;
  }
  if (rules.packages?.includes(name)) return undefined;
  return `${from} imports ${to}: ${layer} may import ${rules.packages?.join(', ') ?? 'no package'}`;
}

/** Files that import each other in a ring, whatever the kind of import; each ring once. */
export function circlesIn(imports: readonly Import[]): string[] {
  const targets = new Map<string, string[]>();
  for (const { from, to, isFile } of imports) {
    if (isFile) targets.set(from, [...(targets.get(from) ?? []), to]);
  }
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start !== -1) circles.push([...path.slice(start), file].join(' -> '));
    if (start !== -1 || done.has(file)) return;
    for (const target of targets.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of targets.keys()) visit(file, []);
  return circles;
}

/** All imports of `src/`. */
export function importsOfSource(): Import[] {
  const source = fileURLToPath(new URL('../../src', import.meta.url));
  const names = readdirSync(source, { recursive: true, encoding: 'utf8' });
  return names
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => /\.tsx?$/.test(name))
    .flatMap((name) => importsIn(name, readFileSync(join(source, name), 'utf8')));
}
