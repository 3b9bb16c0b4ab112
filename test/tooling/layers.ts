/** The layers of `src/` and of each package, from the ground up, and a reader of the imports that hold them. */
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
  'server/context',
  'server/define',
  'transports',
  'tasks',
  'server/session',
  'server/features',
  'server',
];

/** By path below `src/`; the longest path that a file begins with is its layer. A layer names only layers that stand above it in this table. */
export const layers: { readonly [path: string]: Layer } = {
  protocol: {
    holds: 'pure data: frames, codec, errors, dialects',
    imports: [],
    packages: ['yaml'],
  },
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
  'server/context': { holds: 'what a handler gets', imports: [...core, 'schema'] },
  'server/define': {
    holds: 'what a server offers, as its author writes it',
    imports: [...core, 'schema', 'server/context'],
    packages: ['uri-template', 'xstate'],
  },
  transports: {
    holds: "stdio, memory, the official SDK's transports",
    imports: core,
    packages: ['xstate'],
  },
  tasks: {
    holds: 'tasks that outlive their process, and where they are kept',
    imports: [...core, 'rounds'],
    packages: ['xstate'],
  },
  diagnostics: {
    holds: "a session's dump, its causes, what is secret",
    imports: core,
    packages: ['xstate'],
  },
  'diagnostics/log': {
    holds: 'facts as lines, at a bounded rate',
    imports: ['protocol', 'actors', 'diagnostics'],
  },
  'server/session': {
    holds: 'one session: its scope, its environment, its streams',
    imports: [...core, 'rounds', 'server/context', 'transports', 'tasks', 'diagnostics/log'],
    packages: ['xstate'],
  },
  'server/features': {
    holds: 'tools, resources, prompts, completion, tasks',
    imports: [
      ...core,
      'rounds',
      'schema',
      'server/context',
      'server/define',
      'tasks',
      'server/session',
    ],
    packages: ['xstate'],
  },
  server: {
    holds: 'the composition: from definition to server to session',
    imports: [
      ...core,
      'rounds',
      'schema',
      'server/context',
      'server/define',
      'transports',
      'diagnostics',
      'tasks',
      'server/session',
      'server/features',
    ],
    packages: ['xstate'],
  },
  'http/nodes': {
    holds: 'what the nodes of an HTTP endpoint share: a directory, a log, broadcasts',
    imports: core,
  },
  'http/forward': {
    holds: 'how requests reach other nodes: connections, signatures',
    imports: [...core, 'http/nodes'],
    packages: ['xstate'],
    node: true,
  },
  'http/auth': {
    holds: 'who makes an HTTP request: tokens, challenges, the metadata of the resource',
    imports: ['protocol', 'actors'],
    packages: ['jose'],
  },
  nodes: {
    holds: 'what the nodes share, in Redis: sessions and tasks; an entry of its own',
    imports: ['protocol', 'machines', 'actors', 'rounds', 'tasks', 'http/nodes'],
    packages: ['redis', 'xstate'],
    node: true,
  },
  processes: {
    holds:
      'processes that serve us: how they are launched, how nothing of them is left, and what differs between systems',
    imports: core,
    packages: ['xstate', 'cross-spawn'],
    node: true,
  },
  'tasks/postgres': {
    holds: 'tasks in Postgres; an entry of its own',
    imports: ['protocol', 'actors', 'tasks', 'processes'],
    node: true,
  },
  'tasks/sqlite': {
    holds: 'tasks in a directory',
    imports: ['actors', 'tasks', 'processes'],
    node: true,
  },
  'nodes/postgres': {
    holds: 'sessions in Postgres; an entry of its own',
    imports: ['protocol', 'actors', 'http/nodes', 'nodes', 'tasks/postgres'],
    node: true,
  },
  'nodes/sqlite': {
    holds: 'sessions in a directory',
    imports: ['protocol', 'actors', 'http/nodes', 'nodes', 'tasks/sqlite'],
    node: true,
  },
  'client/channel': {
    holds: 'what a connection asks of each way to a server; the official SDK transports',
    imports: [...core, 'transports'],
  },
  'client/http': {
    holds: "a connection's way to a server over HTTP, in both eras",
    imports: [...core, 'schema', 'diagnostics', 'client/channel'],
    packages: ['eventsource-parser', 'xstate'],
  },
  'client/lists': {
    holds: 'what a server offers, kept as new as it says, and its subscriptions',
    imports: [...core, 'schema', 'server/session'],
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
      'processes',
      'diagnostics',
      'server/session',
      'client/channel',
      'client/lists',
      'client/asked',
    ],
    packages: ['xstate'],
  },
  recording: {
    holds: 'a session or a connection written down, and played again; an entry of its own',
    imports: [
      ...runtime,
      'rounds',
      'diagnostics',
      'client/channel',
      'client/asked',
      'client/connection',
    ],
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
  'roots/disk': {
    holds: 'the file system, so that a dead mount stops nobody',
    imports: ['actors'],
    node: true,
  },
  roots: {
    holds: "the client's roots as directories, and paths inside them; an entry of its own",
    imports: [...core, 'roots/disk'],
    node: true,
  },
  skills: {
    holds: 'skills that lie in a directory; an entry of its own',
    imports: ['protocol', 'server/define', 'roots', 'roots/disk'],
    node: true,
  },
  http: {
    holds: 'a server over HTTP, on one endpoint for both eras; an entry of its own',
    imports: [...runtime, 'rounds', 'http/auth', 'http/nodes', 'http/forward'],
    packages: ['xstate'],
  },
  'http/node': {
    holds: "an HTTP endpoint on node's own server; an entry of its own",
    imports: ['protocol', 'actors', 'http'],
    node: true,
  },
  serve: {
    holds: 'a server as a process, and over HTTP; an entry of its own',
    imports: [
      ...runtime,
      'rounds',
      'tasks/sqlite',
      'tasks/postgres',
      'nodes',
      'nodes/postgres',
      'nodes/sqlite',
      'diagnostics',
      'diagnostics/log',
      'http',
      'http/node',
      'http/nodes',
      'processes',
      'client/channel',
    ],
    packages: ['xstate'],
    node: true,
  },
  'client/auth': {
    holds: "a host's logins: when, once, and where what comes of them is kept",
    imports: [...core, 'diagnostics', 'client/channel', 'client/http'],
    packages: ['xstate', '@modelcontextprotocol/client'],
    node: true,
  },
  'client/hosts': {
    holds: 'many servers: their file, the names of their tools, who of them runs',
    imports: [
      ...core,
      'diagnostics',
      'server/session',
      'client/channel',
      'client/lists',
      'client/connection',
    ],
    packages: ['jsonc-parser', 'xstate'],
    node: true,
  },
  client: {
    holds: "a host's connections, whatever way leads to the server; an entry of its own",
    imports: [
      ...core,
      'diagnostics',
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
  bridge: {
    holds: 'any server for any host: a session and a connection; an entry of its own',
    imports: [
      ...core,
      'schema',
      'server/context',
      'server/define',
      'diagnostics',
      'server/session',
      'server/features',
      'server',
      'http/nodes',
      'client/asked',
      'client/auth',
      'client/connection',
      'client/hosts',
      'client/lists',
      'client',
    ],
    packages: ['xstate'],
  },
  testing: {
    holds: 'the test kit; an entry of its own',
    imports: [...runtime, 'recording', 'http/nodes', 'client/auth'],
    packages: ['xstate'],
  },
  'charts.ts': {
    holds: 'the list of all machines that have a chart',
    imports: [
      ...core,
      'rounds',
      'transports',
      'tasks',
      'server',
      'http/forward',
      'http',
      'nodes',
      'processes',
      'client/auth',
      'client/connection',
      'client/hosts',
      'client/http',
      'client/lists',
      'client/stdio',
      'serve',
      'bridge',
    ],
    packages: ['xstate'],
  },
  'index.ts': { holds: 'the names of `mcp-actors`', imports: [...runtime, 'diagnostics'] },
  'internal.ts': {
    holds: 'what the packages of this repository use beyond the public names',
    imports: [
      ...runtime,
      'charts.ts',
      'diagnostics',
      'http',
      'processes',
      'roots',
      'roots/disk',
      'serve',
      'bridge',
      'client/hosts',
    ],
  },
};

/** By name: the packages in `packages/`, each by path below its own `src/`, of which `.` is all that no other path names. They reach `src/` through the library's entries alone. */
export const packageLayers: { readonly [name: string]: { readonly [path: string]: Layer } } = {
  cli: {
    '.': {
      holds: 'the command',
      imports: [],
      packages: [
        'mcp-actors',
        '@mcp-actors/checker',
        '@mcp-actors/inspector',
        '@mcp-actors/openapi',
        '@mcp-actors/workspace-server',
        'jsonc-parser',
        'smol-toml',
        'undici',
        'xstate',
      ],
      node: true,
    },
  },
  // It knows a server by its wire alone.
  checker: {
    '.': {
      holds: 'plays a client against any server',
      imports: [],
      packages: ['mcp-actors', 'xstate'],
      node: true,
    },
  },
  inspector: {
    charts: {
      holds: 'a machine as data, as a drawing, as a diagram',
      imports: [],
      packages: ['mcp-actors', 'xstate'],
    },
    '.': {
      holds: 'the page, and the way to the official inspector',
      imports: ['charts'],
      packages: ['mcp-actors', 'xstate', 'preact', '@statelyai/inspect', '#inspect-page'],
      node: true,
    },
  },
  openapi: {
    '.': {
      holds: 'the operations of an OpenAPI document as tools',
      imports: [],
      packages: ['mcp-actors', '@apidevtools/json-schema-ref-parser', 'js-yaml', 'url-template'],
      node: true,
    },
  },
  'workspace-server': {
    globs: { holds: 'globs', imports: [], packages: ['mcp-actors'] },
    text: {
      holds: 'ranges of lines, encodings',
      imports: [],
      packages: ['mcp-actors'],
      node: true,
    },
    search: {
      holds: 'ripgrep, bounded',
      imports: ['globs', 'text'],
      packages: ['mcp-actors', '@vscode/ripgrep'],
      node: true,
    },
    project: {
      holds: 'which project a session works in, and its facts',
      imports: ['globs', 'text', 'search'],
      packages: ['mcp-actors'],
      node: true,
    },
    tools: {
      holds: 'the tools that a model sees',
      imports: ['globs', 'text', 'search', 'project'],
      packages: ['mcp-actors'],
      node: true,
    },
    'workspace-server.ts': {
      holds: 'the workspace server',
      imports: ['project', 'tools'],
      packages: ['mcp-actors'],
    },
    'index.ts': {
      holds: 'the names of `@mcp-actors/workspace-server`',
      imports: ['workspace-server.ts', 'search'],
    },
  },
};

/** A group of layers. A layer imports only from its own group and from those before it. */
export interface Group {
  /** For the page on the architecture. */
  readonly holds: string;
  /** Its folders and files in `src/`, and its packages. */
  readonly of: readonly string[];
}

/** The layers at one glance, from the ground up. */
export const groups: { readonly [name: string]: Group } = {
  core: {
    holds: 'the actors and machines of a session; in `src`, without Node',
    of: ['protocol', 'machines', 'actors', 'rounds', 'transports'],
  },
  base: {
    holds: 'packages below the server',
    of: ['schema', 'processes', 'tasks', 'diagnostics'],
  },
  server: {
    holds: 'tools, resources, prompts, and the composition of a session; in `src`, without Node',
    of: ['server', 'index.ts'],
  },
  around: {
    holds: 'packages around the core: HTTP, nodes, roots, hosts, the bridge',
    of: ['http', 'nodes', 'roots', 'skills', 'client', 'bridge', 'serve', 'opentelemetry'],
  },
  tools: {
    holds: 'recordings, the test kit, the list of charts, names shared with the other packages',
    of: ['recording', 'testing', 'charts.ts', 'internal.ts'],
  },
};

/** The group of a layer or of a file below `src/`. */
export const groupOf = (path: string): string | undefined =>
  Object.keys(groups).find((name) => groups[name]?.of.includes(path.split('/')[0] ?? ''));

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

/** Whether a file belongs to a layer of this path, or to one of a longer path. */
export const isBelow = (file: string, path: string): boolean =>
  path === '.' ? !file.startsWith('..') : file === path || file.startsWith(`${path}/`);

/**
 * The name of a file in the table of layers: `src/actors/clock.ts` is `actors/clock.ts`, and `packages/client/src/http/post.ts`
 * is `client/http/post.ts`.
 */
const layerPath = (path: string): string =>
  path.replace(/^packages\/([\w-]+)\/src\//, '$1/').replace(/^src\//, '');

/** The layer of a file, by its name in the table. */
function layerOf(file: string, table = layers): string | undefined {
  return Object.keys(table)
    .filter((path) => isBelow(file, path))
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

function sourceFiles(folder: string): readonly { readonly name: string; readonly text: string }[] {
  const source = fileURLToPath(new URL(`../../${folder}`, import.meta.url));
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => ({ name, text: readFileSync(join(source, name), 'utf8') }));
}

/** The texts of a folder's sources. */
export function sourcesOf(folder: string): readonly string[] {
  return sourceFiles(folder).map(({ text }) => text);
}

/** The packages in `packages/` that the library is built from, in the order in which one may import another. */
export const libraryPackages = [
  'schema',
  'diagnostics',
  'processes',
  'roots',
  'tasks',
  'opentelemetry',
  'http',
  'nodes',
  'client',
  'bridge',
  'skills',
  'recording',
  'testing',
  'serve',
] as const;

/** The folders of the library's sources. */
export const libraryFolders = ['src', ...libraryPackages.map((name) => `packages/${name}/src`)];

/** All imports of the library's sources: of `src/` and of the packages that it is built from. */
export function importsOfLibrary(): Import[] {
  return libraryFolders.flatMap((folder) =>
    sourceFiles(folder)
      .flatMap(({ name, text }) => importsIn(`${folder}/${name}`, text))
      .map(({ from, to, isFile }) => ({
        from: layerPath(from),
        to: isFile ? layerPath(to) : to,
        isFile,
      })),
  );
}

/** All imports of a folder of sources. */
export function importsOfSource(folder: string): Import[] {
  return sourceFiles(folder).flatMap(({ name, text }) => importsIn(name, text));
}
