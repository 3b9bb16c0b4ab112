/** Summarizes CPU profiles: functions by time, without the process's idle time. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** Part of V8's profile format in use. */
interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const shownFunctions = 25;

/** Hot spots of each profile in a folder, as text. */
export function showProfiles(folder: string): string {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .toSorted()
    .map((name) => `${name}\n${hotSpots(JSON.parse(readFileSync(join(folder, name), 'utf8')))}`)
    .join('\n\n');
}

function hotSpots(profile: CpuProfile): string {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const times = new Map<string, number>();
  let total = 0;
  profile.samples.forEach((id, at) => {
    const frame = frames.get(id);
    if (!frame || frame.functionName === '(idle)') return;
    const time = profile.timeDeltas[at] ?? 0;
    const place = placeOf(frame);
    times.set(place, (times.get(place) ?? 0) + time);
    total += time;
  });
  const sorted = [...times].toSorted(([, a], [, b]) => b - a).slice(0, shownFunctions);
  const lines = sorted.map(
    ([place, time]) => `${((time / total) * 100).toFixed(1).padStart(6)} %  ${place}`,
  );
  return `${(total / 1000).toFixed(0).padStart(6)} ms busy\n${lines.join('\n')}`;
}

function placeOf({ functionName, url, lineNumber }: CallFrame): string {
  const file = url.replace(/^.*\/(node_modules|dist|bench)\//, '$1/');
  const name = functionName === '' ? '(anonymous)' : functionName;
  return url === '' ? name : `${name}  ${file}:${lineNumber + 1}`;
}
