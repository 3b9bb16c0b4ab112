/** Sets this process's clock off, as on a machine whose time is wrong. It is imported before anything that reads the time. */
const offsetMs = Number(process.env['CLOCK_OFFSET_MS'] ?? 0);
const now = Date.now.bind(Date);
Date.now = () => now() + offsetMs;
