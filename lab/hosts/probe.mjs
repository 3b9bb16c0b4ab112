/**
 * Runs one client library in its own process: connects, lists, calls, and reports what the model
 * would receive.
 */
const [name, text] = process.argv.slice(2);
const { launch, calls, root } = JSON.parse(text);
const { connect } = await import(`./clients/${name}.mjs`);

const client = await connect(launch, root);
const tools = await client.tools();
const handed = [];
for (const { tool, args } of calls) {
  const given = await client.call(tool, args);
  handed.push(typeof given === 'string' ? given : JSON.stringify(given));
}
await client.close();
process.send({ tools, handed }, () => process.disconnect());
