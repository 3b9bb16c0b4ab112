/** Runs one client library in a process of its own: connects, lists, calls, and tells what the model would get. */
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
