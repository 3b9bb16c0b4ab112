/** Progress of a call, redrawn on one line of a terminal. */
import type { ToolTask } from 'mcp-actors/client';
import type { ToolTaskStatus } from 'mcp-actors/client';
import { printable } from 'mcp-actors/internal';
import type { ProgressReport } from 'mcp-actors';
import type { ProgressStream } from '../progress.ts';

export interface ProgressLine {
  readonly update: (report: ProgressReport) => void;
  /** Shows the status of the task that the call has become. */
  readonly task: (task: ToolTask) => void;
  /** Removes the line. */
  readonly end: () => void;
}

const barCells = 20;
const clearLine = '\r\u001B[K';

/** Creates a progress line, which draws only on a terminal. */
export function drawProgress(stream: ProgressStream): ProgressLine {
  let drawn = '';
  const draw = (text: string): void => {
    if (stream.isTTY !== true) return;
    drawn = text;
    stream.write(clearLine + text);
  };
  return {
    update: (report) => draw(textOfProgress(report)),
    task: ({ status$ }) => void status$.subscribe((status) => draw(textOfTask(status))),
    end: () => {
      if (drawn !== '') stream.write(clearLine);
      drawn = '';
    },
  };
}

/** `task: working, 40 pages read` */
function textOfTask({ status, message }: ToolTaskStatus): string {
  return `task: ${status}${message === undefined ? '' : `, ${printable(message, 100)}`}`;
}

/** `[#####---------------] 25 of 100 reading` */
export function textOfProgress({ progress, total, message }: ProgressReport): string {
  const words = message === undefined ? '' : ` ${printable(message, 100)}`;
  if (total === undefined || !(total > 0)) return `${progress}${words}`;
  const done = Math.round(Math.min(1, Math.max(0, progress / total)) * barCells);
  return `[${'#'.repeat(done)}${'-'.repeat(barCells - done)}] ${progress} of ${total}${words}`;
}
