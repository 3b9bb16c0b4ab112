/**
 * The host that the public conformance suite plays with. The suite starts it once for each scenario,
 * with the URL of a server as the last argument, and the scenario's name and what belongs to it in the
 * environment.
 */
import { connect } from 'mcp-actors/client';
import { authOf } from './auth.js';

const url = process.argv.at(-1);
const {
  MCP_CONFORMANCE_SCENARIO: scenario = '',
  MCP_CONFORMANCE_CONTEXT: context = '{}',
} = process.env;

/** What is done over the connection, by the scenario. */
const plays = {
  auth: async (connection) => {
    await connection.listTools();
    await connection.callTool('test-tool', {});
  },
};

/** Its name, or what it is about. */
const play = plays[scenario] ?? plays[scenario.split('/')[0]];
if (!play) throw new Error(`There is no scenario ${scenario}`);

const options = scenario.startsWith('auth/') ? { auth: authOf(scenario, JSON.parse(context)) } : {};
const connection = await connect({ url }, { ...options, restart: 'none' });
try {
  await play(connection);
} finally {
  await connection.close();
}
