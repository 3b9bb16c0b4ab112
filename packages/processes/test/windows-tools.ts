/** The tools of Windows on Linux: what they do to processes, they do to real ones. */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { WindowsTools } from '../src/platform.ts';

const script = fileURLToPath(new URL('windows-tool.mjs', import.meta.url));

const scripts: { readonly [Tool in keyof WindowsTools]: string } = {
  // It runs `"FIRST" … & "SECOND" …` in one process, which ends before the second if it is killed.
  cmd: `line=\${4#\\"}; line=\${line%\\"}; eval "$(printf %s "$line" | sed 's/>nul/>\\/dev\\/null/g; s/ & /; /')"`,
  findstr: 'exec cat',
  // Each reading is counted, and waits while there is a file `hold`.
  powershell: `cd "\${0%/*}"; echo >>readings; while [ -e hold ]; do sleep 0.01; done; exec ${process.execPath} ${script} powershell`,
  taskkill: `exec ${process.execPath} ${script} taskkill "$@"`,
};

/** Writes them into a folder. */
export function fakeWindowsTools(folder: string): WindowsTools {
  const paths = Object.entries(scripts).map(([name, text]) => {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return [name, path];
  });
  return Object.fromEntries(paths) as WindowsTools;
}

/** The command lines of the processes whose environment, or command line, has this text. */
export function processesWith(text: string): readonly string[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      const environment = readFileSync(`/proc/${name}/environ`, 'utf8');
      return command !== '' && (command + environment).includes(text) ? [command] : [];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

/** Waits until there are none. */
export async function goneWith(text: string): Promise<void> {
  await expect.poll(() => processesWith(text), { interval: 10 }).toEqual([]);
}
