/**
 * Stand-ins for two tools of Windows, which end and list real processes of Linux. A process that its
 * parent has left behind names that one in WINDOWS_PARENT, as it would in the table of Windows.
 */
import { readFileSync, readdirSync } from 'node:fs';

const ticksPerSecond = 100;
const bootMs = Date.now() - Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 1000;

/** Every process that lives. */
function table() {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (/[ZX]/.test(fields[0])) return [];
      const environment = readFileSync(`/proc/${name}/environ`, 'utf8');
      const told = /(?:^|\0)WINDOWS_PARENT=(\d+)/.exec(environment)?.[1];
      // A tick may have begun before this system's clock was read.
      const startedMs = bootMs + ((Number(fields[19]) + 5) * 1000) / ticksPerSecond;
      return [{ pid: Number(name), parent: Number(told ?? fields[1]), startedMs }];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

const [tool, ...args] = process.argv.slice(2);
if (tool === 'powershell') {
  for (const { pid, parent, startedMs } of table()) {
    const fileTime = Math.floor((startedMs + 11_644_473_600_000) * 10_000);
    process.stdout.write(`${pid} ${parent} ${fileTime}\r\n`);
  }
} else {
  const all = table();
  const roots = args.flatMap((arg, at) => (arg === '/PID' ? Number(args[at + 1]) : []));
  const tree = all.filter(({ pid }) => roots.includes(pid));
  if (!args.includes('/T') || tree.length === 0) process.exit(128);
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  // A program without a window does not hear that it should end.
  if (!args.includes('/F')) process.exit(1);
  for (const { pid } of tree) process.kill(pid, 'SIGKILL');
}
