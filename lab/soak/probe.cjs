/** Loaded before the server that is soaked. When it is asked, it collects all garbage and says what is left: heap, and what lives of timers, handles and children. */
const { createHook } = require('node:async_hooks');

/** Of these there are as many as there is code that waits. */
const uncounted = new Set(['PROMISE', 'TickObject', 'Microtask']);
/** By their async ids. */
const living = new Map();

createHook({
  init: (id, type) => {
    if (!uncounted.has(type)) living.set(id, type);
  },
  destroy: (id) => living.delete(id),
}).enable();

process.on('message', () => {
  globalThis.gc();
  // What finalizers have let go is destroyed in a turn of its own.
  setImmediate(() => {
    globalThis.gc();
    setImmediate(() => {
      const resources = {};
      for (const type of living.values()) resources[type] = (resources[type] ?? 0) + 1;
      const { heapUsed, rss } = process.memoryUsage();
      process.send({ heapBytes: heapUsed, rssBytes: rss, resources });
    });
  });
});
process.channel.unref();
