/** Loaded before a server, where its live heap is measured: collects all garbage when it is asked, and says what is left. */
const { channel } = process;

process.on('message', () => {
  // The first may leave what finalizers still hold.
  globalThis.gc();
  globalThis.gc();
  process.send({ heapBytes: process.memoryUsage().heapUsed });
});
// The server ends when its input does.
channel.unref();
