/** What the places that list servers want to know, each in its own form, made of the facts of a release. */
import { workspaceServer } from '@mcp-actors/workspace-server';
import { stringify } from 'yaml';
import { options } from '../../packages/cli/src/options/serve-options.ts';
import { pageOf, registryName } from './address.ts';
import type { Edits } from './edits.ts';
import { factsOf, title } from './facts.ts';
import type { Facts } from './facts.ts';
import { serverFolder, shortName } from './packages.ts';

/** Where the files stand that are kept in the repository. */
export const registryFile = 'server.json';
export const bundleFolder = 'release/bundle';
export const bundleManifestFile = `${bundleFolder}/manifest.json`;

export const registrySchema =
  'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';

const directories =
  'The directories that it may read. With several, the roots of the client choose among them.';

/** The port inside of the image, and the one on this machine. */
const port = 3000;

const logLevel = options['log-level'];

const environmentVariables = [
  {
    name: 'MCP_PROJECT_PATH',
    description:
      'The directory that it reads if there is neither an argument nor a root of the client.',
    format: 'filepath',
  },
  {
    name: logLevel.environment,
    description: logLevel.help,
    choices: logLevel.choices,
    default: logLevel.default,
  },
];

/** The image in GitHub's registry, whose names have small letters alone. */
export const imageOf = (owner: string): string => `ghcr.io/${owner.toLowerCase()}/${shortName}`;

/** `server.json` of the official registry; without an address it has no name, and the registry refuses it. */
export function registryEntry({ address, version, packageName, description }: Facts): object {
  return {
    $schema: registrySchema,
    ...(address === undefined ? {} : { name: registryName(address) }),
    title,
    description,
    version,
    ...(address === undefined
      ? {}
      : {
          repository: { url: address.url, source: 'github', subfolder: serverFolder },
          websiteUrl: pageOf(address, 'packages/workspace-server/README.md'),
        }),
    packages: [
      {
        registryType: 'npm',
        registryBaseUrl: 'https://registry.npmjs.org',
        identifier: packageName,
        version,
        runtimeHint: 'npx',
        transport: { type: 'stdio' },
        packageArguments: [
          { type: 'positional', value: 'workspace', description: 'The command.' },
          {
            type: 'positional',
            valueHint: 'directory',
            description: directories,
            format: 'filepath',
            isRepeated: true,
          },
        ],
        environmentVariables,
      },
      ...(address === undefined ? [] : [imagePackage(address.owner, version)]),
    ],
  };
}

/** The image, which serves one directory over HTTP to this machine alone. */
function imagePackage(owner: string, version: string): object {
  return {
    registryType: 'oci',
    identifier: `${imageOf(owner)}:${version}`,
    runtimeHint: 'docker',
    transport: { type: 'streamable-http', url: `http://127.0.0.1:${port}/mcp` },
    runtimeArguments: [
      {
        type: 'named',
        name: '--publish',
        value: `127.0.0.1:${port}:${port}`,
        description: 'Reached from this machine alone.',
      },
      {
        type: 'named',
        name: '--mount',
        value: 'type=bind,src={directory},dst=/project,readonly',
        description: 'The directory that it reads.',
        isRequired: true,
        variables: {
          directory: {
            description: 'An absolute path on this machine.',
            format: 'filepath',
            isRequired: true,
          },
        },
      },
    ],
    packageArguments: [
      {
        type: 'named',
        name: '--http',
        value: `0.0.0.0:${port}`,
        description: 'Every address inside of the container.',
      },
      {
        type: 'named',
        name: '--insecure',
        description: 'Without authorization: whoever reaches the port may read the directory.',
      },
    ],
    environmentVariables: environmentVariables.filter(({ name }) => name === logLevel.environment),
  };
}

/** The manifest of the bundle for Claude Desktop and others (mcpb, version 0.3 of its form). */
export function bundleManifest(facts: Facts): object {
  const { address, author, version, description, keywords, license, node, packageName } = facts;
  const args = ['-y', `${packageName}@${version}`, 'workspace', '${user_config.directories}'];
  return {
    manifest_version: '0.3',
    name: shortName,
    display_name: title,
    version,
    description,
    author: { name: author },
    ...(address === undefined
      ? {}
      : {
          repository: { type: 'git', url: address.url },
          homepage: address.url,
          documentation: pageOf(address, 'packages/workspace-server/README.md'),
          support: `${address.url}/issues`,
        }),
    server: {
      type: 'node',
      entry_point: 'server/start.mjs',
      mcp_config: {
        command: 'npx',
        args,
        // There npx is a batch file.
        platform_overrides: { win32: { command: 'cmd', args: ['/c', 'npx', ...args] } },
      },
    },
    tools: toolsOf(version),
    keywords,
    license,
    ...(address === undefined ? {} : { privacy_policies: [pageOf(address, 'PRIVACY.md')] }),
    compatibility: { platforms: ['darwin', 'win32', 'linux'], runtimes: { node } },
    user_config: {
      directories: {
        type: 'directory',
        title: 'Directories',
        description: directories,
        multiple: true,
        required: true,
      },
    },
  };
}

/** The tools of the server, each with its title. */
function toolsOf(version: string): readonly object[] {
  const { definition } = workspaceServer({ version, cwd: '/', home: '/' });
  return (definition.tools ?? []).map(({ name, title: text }) => ({ name, description: text }));
}

/**
 * `servers/mcp-actors/server.yaml` in Docker's catalogue, which builds the image from our Dockerfile.
 *
 * @param commit whose Dockerfile it is, all 40 digits
 */
export function catalogueEntry(
  { description, license }: Facts,
  { owner, url }: NonNullable<Facts['address']>,
  commit: string,
): string {
  return stringify({
    name: shortName,
    image: `mcp/${shortName}`,
    type: 'server',
    meta: { category: 'devops', tags: ['workspace', 'filesystem', 'search', 'devops'] },
    about: {
      title,
      description: `${description} (${license})`,
      icon: `https://github.com/${owner}.png?size=200`,
    },
    source: { project: url, commit },
    run: {
      command: [`{{${shortName}.paths|volume-target|into}}`],
      volumes: [`{{${shortName}.paths|volume|into}}`],
      disableNetwork: true,
    },
    config: {
      description: directories,
      parameters: {
        type: 'object',
        properties: {
          paths: { type: 'array', items: { type: 'string' }, default: ['/Users/local-test'] },
        },
        required: ['paths'],
      },
    },
  });
}

/** Writes the files that are kept in the repository. */
export async function writeShelf(edits: Edits): Promise<void> {
  const facts = factsOf(edits);
  await edits.writeJson(registryFile, registryEntry(facts));
  await edits.writeJson(bundleManifestFile, bundleManifest(facts));
}
