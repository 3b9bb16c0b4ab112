/** MCP Apps: a tool names a page, hosts that show apps are told, and all others get the text. */
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createMcpServer,
  defineAppResource,
  defineResource,
  defineResourceTemplate,
  defineTool,
} from '../../src/index.ts';
import type { AppResourceSpecification, McpServer, Tool } from '../../src/index.ts';
import { appMimeType } from '../../src/protocol/apps.ts';
import type { JsonObject } from '../../src/protocol/frames.ts';
import { testClient } from '../../packages/testing/src/index.ts';

const uri = 'ui://sums/view.html';
const ui = { csp: { connectDomains: ['https://api.example.com'] }, prefersBorder: true };
const page = defineAppResource({ uri, name: 'Sums', html: '<!doctype html>', ui });
const app = {
  name: 'app',
  description: 'Has an app.',
  handler: (_: unknown, { supportsApps }: { readonly supportsApps: boolean }) =>
    supportsApps ? 'app' : 'text',
} as const;
const tool = defineTool({ ...app, _meta: { mine: 1 }, ui: { resourceUri: uri } });

const serverOf = (tools: readonly Tool[] = [tool]) =>
  createMcpServer({ name: 'sums', version: '1', tools, resources: [page] });
const declaring = (settings: unknown) => ({
  extensions: { 'io.modelcontextprotocol/ui': settings },
});

const extension = { extensions: { 'io.modelcontextprotocol/ui': {} } };
const revisions = ['2025-06-18', '2025-11-25', '2026-07-28'] as const;

describe.each(revisions)('in %s', (revision) => {
  test('a tool names its page, and the server says that it has apps', async () => {
    const { ask, declared } = await clientOf(serverOf(), revision);
    const listed = await ask('tools/list', {});
    expect(listed).toMatchObject({
      tools: [{ _meta: { mine: 1, ui: { resourceUri: uri }, 'ui/resourceUri': uri } }],
    });
    expect((listed['tools'] as JsonObject[])[0]).not.toHaveProperty('ui');
    expect(declared).toMatchObject(extension);
  });

  test('a page is listed and read with its type and how it is shown', async () => {
    const { ask } = await clientOf(serverOf(), revision);
    const described = { uri, mimeType: appMimeType, _meta: { ui } };
    expect(await ask('resources/list', {})).toMatchObject({ resources: [described] });
    expect(await ask('resources/read', { uri })).toMatchObject({
      contents: [{ ...described, text: '<!doctype html>' }],
    });
  });

  test.each<[capabilities: JsonObject, text: string]>([
    [declaring({ mimeTypes: [appMimeType] }), 'app'],
    [declaring({ mimeTypes: ['text/html', appMimeType] }), 'app'],
    [declaring({ mimeTypes: ['text/html'] }), 'text'],
    [declaring({ mimeTypes: appMimeType }), 'text'],
    [declaring({}), 'text'],
    [declaring(true), 'text'],
    [{ extensions: [] }, 'text'],
    [{}, 'text'],
  ])('a handler knows of a client with %j whether it shows apps', async (capabilities, text) => {
    const { ask } = await clientOf(serverOf(), revision, capabilities);
    const result = await ask('tools/call', { name: 'app', arguments: {} });
    expect(result).toMatchObject({ content: [{ type: 'text', text }] });
  });

  test('a server without apps does not declare them', async () => {
    const { declared } = await clientOf(serverOf([defineTool(app)]), revision);
    expect(declared).not.toHaveProperty('extensions');
  });
});

test('a client of a revision without _meta is told of no app, and gets the text', async () => {
  const { ask, declared } = await clientOf(serverOf(), '2024-11-05');
  expect((await ask('tools/list', {}))['tools']).not.toMatchObject([{ _meta: {} }]);
  expect(declared).not.toHaveProperty('extensions');
  const result = await ask('tools/call', { name: 'app', arguments: {} });
  expect(result).toMatchObject({ content: [{ type: 'text', text: 'text' }] });
});

test('a tool for apps alone needs no page, and may be added later', async () => {
  const server = serverOf([]);
  server.tools.add(defineTool({ ...app, ui: { visibility: ['app'] } }));
  const { ask, declared } = await clientOf(server, '2025-11-25');
  expect(await ask('tools/list', {})).toMatchObject({
    tools: [{ _meta: { ui: { visibility: ['app'] } } }],
  });
  expect(declared).toMatchObject(extension);
});

test('a page may be made for each reading', async () => {
  let readings = 0;
  const counted = defineAppResource({ uri, name: 'Count', html: async () => `<p>${++readings}` });
  const server = createMcpServer({ name: 'count', version: '1', resources: [counted] });
  const { ask } = await clientOf(server, '2025-11-25');
  await ask('resources/read', { uri });
  expect(await ask('resources/read', { uri })).toEqual({
    contents: [{ uri, mimeType: appMimeType, text: '<p>2' }],
  });
});

describe('what is wrong is said when it is defined', () => {
  test.each<[ui: unknown, message: string]>([
    [{ resourceUri: 'https://x' }, '"ui.resourceUri" must be a URI that begins with ui:// , this'],
    [{ resourceUri: 5 }, 'this is 5; it is of the tool "app"'],
    [{}, '"ui" must have "resourceUri" or "visibility"'],
    ['ui://a', '"ui" must be an object, this is "ui://a"'],
    [{ visibility: [] }, '"ui.visibility" must be a list of "model" and "app", this is'],
    [{ visibility: ['user'] }, '"ui.visibility" must be a list of "model" and "app"'],
    [{ resourceUri: uri, csp: {} }, '"ui.csp" is unknown: how a page is shown belongs to its'],
  ])('of a tool with the app %j', (wrong, message) => {
    expect(() => defineTool({ ...app, ui: wrong as never })).toThrow(message);
  });

  test('of a tool that says it twice', () => {
    const twice = { ...app, ui: { resourceUri: uri }, _meta: { ui: {} } };
    expect(() => defineTool(twice)).toThrow('"ui" and "_meta.ui" say the same');
  });

  test.each<[wrong: object, message: string]>([
    [
      { uri: 'https://x/y' },
      'The URI of an app resource begins with ui:// ; this is "https://x/y"',
    ],
    [
      { html: undefined, read: () => '' },
      '"read" of the app resource "ui://sums/view.html" is called "html"',
    ],
    [
      { html: 5 },
      '"html" of the app resource "ui://sums/view.html" must be a string or a function',
    ],
    [{ ui: 5 }, '"ui" must be an object, this is 5; it is of the app resource'],
    [
      { ui: { border: true } },
      '"ui.border" is unknown, known are csp, permissions, domain, prefersBorder',
    ],
    [
      { ui: { csp: { connectDomains: 'https://a' } } },
      '"ui.csp.connectDomains" must be a list of origins',
    ],
    [
      { ui: { csp: { connectDomains: ["https://a; script-src 'unsafe-eval'"] } } },
      '"ui.csp.connectDomains" must hold origins such as "https://api.example.com"',
    ],
    [{ ui: { permissions: { camera: true } } }, '"ui.permissions.camera" must be {}, this is true'],
    [{ ui: { permissions: { toString: {} } } }, '"ui.permissions.toString" is unknown'],
    [{ ui: { prefersBorder: 'yes' } }, '"ui.prefersBorder" must be a boolean, this is "yes"'],
    [{ ui: { domain: 5 } }, '"ui.domain" must be a string, this is 5'],
  ])('of a page: %j', (wrong, message) => {
    const specification = { uri, name: 'Sums', html: '', ...wrong } as AppResourceSpecification;
    expect(() => defineAppResource(specification)).toThrow(message);
  });

  const named = 'The tool "app" names the app resource "ui://sums/view.html"';

  test('of a server that does not have the page, at its start and later', () => {
    const none = { name: 'none', version: '1' };
    expect(() => createMcpServer({ ...none, tools: [tool] })).toThrow(
      `${named}, which the server does not have`,
    );
    const server = createMcpServer({ ...none, tools: [], resources: [] });
    expect(() => server.tools.add(tool)).toThrow(named);
    expect(server.tools.keys()).toEqual([]);
    server.resources.add(page);
    server.tools.add(tool);
    expect(server.tools.keys()).toEqual(['app']);
  });

  test('of a server whose page no host would show', () => {
    const read = () => '';
    const html = defineResource({ uri, name: 'Sums', mimeType: 'text/html', read });
    const server = { name: 'html', version: '1', tools: [tool] };
    expect(() => createMcpServer({ ...server, resources: [html] })).toThrow(
      `${named}, whose mimeType must be "text/html;profile=mcp-app", this is "text/html"`,
    );
    const template = { uriTemplate: 'ui://sums/{page}', name: 'Pages', read };
    const pages = defineResourceTemplate({ ...template, mimeType: appMimeType });
    expect(createMcpServer({ ...server, resourceTemplates: [pages] }).tools.keys()).toEqual([
      'app',
    ]);
    expect(() =>
      createMcpServer({ ...server, resourceTemplates: [defineResourceTemplate(template)] }),
    ).toThrow('this is missing');
  });
});

/** A client of any revision: what the server declares to it, and how it asks. */
async function clientOf(server: McpServer, revision: string, capabilities: JsonObject = {}) {
  const client = await testClient(server, { revision, capabilities });
  onTestFinished(() => client.close());
  return {
    ask: (method: string, params: JsonObject) => client.request(method, params),
    declared: client.hello['capabilities'],
  };
}
