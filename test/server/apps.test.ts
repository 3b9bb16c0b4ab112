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

describe.each(revisions)('apps in %s', (revision) => {
  test('links a tool to its page and declares the apps extension', async () => {
    const { ask, declared } = await clientOf(serverOf(), revision);
    const listed = await ask('tools/list', {});
    expect(listed).toMatchObject({
      tools: [{ _meta: { mine: 1, ui: { resourceUri: uri }, 'ui/resourceUri': uri } }],
    });
    expect((listed['tools'] as JsonObject[])[0]).not.toHaveProperty('ui');
    expect(declared).toMatchObject(extension);
  });

  test('lists and reads a page with its MIME type and UI metadata', async () => {
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
  ])('derives context.supportsApps from the client capabilities %j', async (capabilities, text) => {
    const { ask } = await clientOf(serverOf(), revision, capabilities);
    const result = await ask('tools/call', { name: 'app', arguments: {} });
    expect(result).toMatchObject({ content: [{ type: 'text', text }] });
  });

  test('does not declare the apps extension without apps', async () => {
    const { declared } = await clientOf(serverOf([defineTool(app)]), revision);
    expect(declared).not.toHaveProperty('extensions');
  });
});

test('omits the app for a revision without _meta and sends the text result', async () => {
  const { ask, declared } = await clientOf(serverOf(), '2024-11-05');
  expect((await ask('tools/list', {}))['tools']).not.toMatchObject([{ _meta: {} }]);
  expect(declared).not.toHaveProperty('extensions');
  const result = await ask('tools/call', { name: 'app', arguments: {} });
  expect(result).toMatchObject({ content: [{ type: 'text', text: 'text' }] });
});

test('accepts a tool that only apps call without a page, even at run time', async () => {
  const server = serverOf([]);
  server.tools.add(defineTool({ ...app, ui: { visibility: ['app'] } }));
  const { ask, declared } = await clientOf(server, '2025-11-25');
  expect(await ask('tools/list', {})).toMatchObject({
    tools: [{ _meta: { ui: { visibility: ['app'] } } }],
  });
  expect(declared).toMatchObject(extension);
});

test('generates the HTML of a page on each read', async () => {
  let readings = 0;
  const counted = defineAppResource({ uri, name: 'Count', html: async () => `<p>${++readings}` });
  const server = createMcpServer({ name: 'count', version: '1', resources: [counted] });
  const { ask } = await clientOf(server, '2025-11-25');
  await ask('resources/read', { uri });
  expect(await ask('resources/read', { uri })).toEqual({
    contents: [{ uri, mimeType: appMimeType, text: '<p>2' }],
  });
});

describe('validation of app definitions', () => {
  test.each<[ui: unknown, message: string]>([
    [
      { resourceUri: 'https://x' },
      '"ui.resourceUri" of the tool "app" must be a URI that starts with ui:// , got',
    ],
    [{ resourceUri: 5 }, '"ui.resourceUri" of the tool "app" must be a URI'],
    [{}, '"ui" of the tool "app" must have "resourceUri" or "visibility"'],
    ['ui://a', '"ui" of the tool "app" must be an object, got "ui://a"'],
    [
      { visibility: [] },
      '"ui.visibility" of the tool "app" must be a list of "model" and "app", got',
    ],
    [
      { visibility: ['user'] },
      '"ui.visibility" of the tool "app" must be a list of "model" and "app"',
    ],
    [{ resourceUri: uri, csp: {} }, '"ui.csp" of the tool "app" is unknown'],
  ])('rejects the tool option ui %j', (wrong, message) => {
    expect(() => defineTool({ ...app, ui: wrong as never })).toThrow(message);
  });

  test('rejects a tool with both ui and _meta.ui', () => {
    const twice = { ...app, ui: { resourceUri: uri }, _meta: { ui: {} } };
    expect(() => defineTool(twice)).toThrow('duplicates "_meta.ui"');
  });

  const of = 'of the app resource "ui://sums/view.html"';
  test.each<[wrong: object, message: string]>([
    [{ uri: 'https://x/y' }, '"uri" of an app resource must start with ui:// , got "https://x/y"'],
    [
      { html: undefined, read: () => '' },
      '"read" of the app resource "ui://sums/view.html" is unknown: use "html"',
    ],
    [
      { html: 5 },
      '"html" of the app resource "ui://sums/view.html" must be a string or a function',
    ],
    [{ ui: 5 }, `"ui" ${of} must be an object, got 5`],
    [
      { ui: { border: true } },
      `"ui.border" ${of} is unknown, must be one of csp, permissions, domain, prefersBorder`,
    ],
    [
      { ui: { csp: { connectDomains: 'https://a' } } },
      `"ui.csp.connectDomains" ${of} must be a list of origins`,
    ],
    [
      { ui: { csp: { connectDomains: ["https://a; script-src 'unsafe-eval'"] } } },
      `"ui.csp.connectDomains" ${of} must contain origins such as "https://api.example.com"`,
    ],
    [
      { ui: { permissions: { camera: true } } },
      `"ui.permissions.camera" ${of} must be {}, got true`,
    ],
    [{ ui: { permissions: { toString: {} } } }, `"ui.permissions.toString" ${of} is unknown`],
    [{ ui: { prefersBorder: 'yes' } }, `"ui.prefersBorder" ${of} must be a boolean, got "yes"`],
    [{ ui: { domain: 5 } }, `"ui.domain" ${of} must be a string, got 5`],
  ])('rejects the app resource %j', (wrong, message) => {
    const specification = { uri, name: 'Sums', html: '', ...wrong } as AppResourceSpecification;
    expect(() => defineAppResource(specification)).toThrow(message);
  });

  const named =
    '"ui.resourceUri" of the tool "app" must be the URI of an app resource, got "ui://sums/view.html"';

  test('rejects a tool whose page the server lacks, at creation and at run time', () => {
    const none = { name: 'none', version: '1' };
    expect(() => createMcpServer({ ...none, tools: [tool] })).toThrow(
      `${named}: define it with defineAppResource`,
    );
    const server = createMcpServer({ ...none, tools: [], resources: [] });
    expect(() => server.tools.add(tool)).toThrow(named);
    expect(server.tools.keys()).toEqual([]);
    server.resources.add(page);
    server.tools.add(tool);
    expect(server.tools.keys()).toEqual(['app']);
  });

  test('rejects a tool whose page is not an app resource', () => {
    const read = () => '';
    const html = defineResource({ uri, name: 'Sums', mimeType: 'text/html', read });
    const server = { name: 'html', version: '1', tools: [tool] };
    expect(() => createMcpServer({ ...server, resources: [html] })).toThrow(
      `${named}, whose mimeType is "text/html" instead of "text/html;profile=mcp-app"`,
    );
    const template = { uriTemplate: 'ui://sums/{page}', name: 'Pages', read };
    const pages = defineResourceTemplate({ ...template, mimeType: appMimeType });
    expect(createMcpServer({ ...server, resourceTemplates: [pages] }).tools.keys()).toEqual([
      'app',
    ]);
    expect(() =>
      createMcpServer({ ...server, resourceTemplates: [defineResourceTemplate(template)] }),
    ).toThrow('whose mimeType is missing');
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
