/**
 * Client for the public conformance suite. The suite starts it once per scenario, with a server URL
 * as the last argument and the scenario's name and context in the environment.
 */
import { connect } from 'mcp-actors/client';
import { authOf } from './auth.js';

const url = process.argv.at(-1);
const { MCP_CONFORMANCE_SCENARIO: scenario = '', MCP_CONFORMANCE_CONTEXT: context = '{}' } =
  process.env;

const { toolCalls = [], ...credentials } = JSON.parse(context);

const list = (connection) => connection.listTools();

/** Lists the tools, then calls one. */
const calling = (tool, args) => async (connection) => {
  await list(connection);
  await connection.callTool(tool, args);
};

async function callAllTools(connection) {
  for (const { name } of await list(connection)) await connection.callTool(name, {});
}

async function useEverything(connection) {
  await callAllTools(connection);
  for (const { uri } of await connection.listResources()) await connection.readResource(uri);
  for (const { name } of await connection.listPrompts()) await connection.getPrompt(name, {});
}

async function callAsTold(connection) {
  await list(connection);
  for (const { name, arguments: args } of toolCalls) await connection.callTool(name, args);
}

async function echoSchema(connection) {
  const tools = await list(connection);
  const tool = tools.find(({ name }) => name === 'json_schema_2020_12_tool');
  await connection.callTool('json_schema_echo', { schema: tool.inputSchema });
}

const listSkills = (connection) => connection.skills.list();

/** Loads every skill the server lists with all its files, until one is invalid. */
async function loadSkills(connection) {
  for (const skill of await listSkills(connection)) {
    for (const { uri } of skill.resources) await connection.skills.read(skill, uri);
  }
}

/** Makes the second call while the form of the first is open. */
async function callInRounds(connection) {
  await list(connection);
  await Promise.all([
    connection.callTool('test_mrtr_echo_state'),
    connection.callTool('test_mrtr_unrelated'),
  ]);
  await connection.callTool('test_mrtr_no_state');
  await connection.callTool('test_mrtr_no_result_type');
}

/** Actions over the connection, by scenario. */
const plays = {
  // The server offers nothing.
  initialize: () => {},
  tools_call: calling('add_numbers', { a: 5, b: 3 }),
  'elicitation-sep1034-client-defaults': calling('test_client_elicitation_defaults'),
  'sse-retry': calling('test_reconnection'),
  // The server lists tools without declaring them.
  'request-metadata': (connection) => connection.request('tools/list'),
  'http-standard-headers': useEverything,
  'http-custom-headers': callAsTold,
  'http-invalid-tool-headers': callAllTools,
  'json-schema-ref-no-deref': list,
  'json-schema-2020-12-preservation': echoSchema,
  'sep-2322-client-request-state': callInRounds,
  'sep-2640-client-no-prefetch': listSkills,
  'sep-2640-client-verify-digest': loadSkills,
  'sep-2640-client-verify-size': loadSkills,
  'sep-2640-client-verify-frontmatter': loadSkills,
  auth: calling('test-tool'),
};

/** Form contents by scenario; other scenarios elicit nothing. */
const forms = {
  'elicitation-sep1034-client-defaults': {},
  'sep-2322-client-request-state': { confirmed: true },
};

const [subject] = scenario.split('/');
const play = plays[subject];
if (!play) throw new Error(`There is no scenario ${scenario}`);

const content = forms[scenario];
const connection = await connect(
  { url },
  {
    ...(content ? { elicit: () => ({ action: 'accept', content }) } : {}),
    ...(subject === 'auth' ? { auth: authOf(scenario, credentials) } : {}),
    restart: 'none',
  },
);
try {
  await play(connection);
} finally {
  await connection.close();
}
