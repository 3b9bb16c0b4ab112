/**
 * `mcp-actors replay`: replays a recording against this version and reports the first difference.
 */
import { homedir } from 'node:os';
import { createInterface } from 'node:readline';
import { differenceText, readRecordingFile, RecordingError, replay } from 'mcp-actors/recording';
import { lineText } from 'mcp-actors/recording';
import type { Recording, ReplayOptions } from 'mcp-actors/recording';
import { inspectValue, printable } from 'mcp-actors/internal';
import { createMcpServer } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { workspaceRootsUri, workspaceServer } from '@mcp-actors/workspace-server';
import { UsageError, packageVersion, print } from './command.ts';
import { checkDirectories, workingDirectory } from './directories.ts';
import { optionsText } from './options/option.ts';
import { readInspectorSettings, openInspector } from './inspector.ts';
import type { InspectorSettings } from './inspector.ts';
import type { OptionTable } from './options/option.ts';
import { commandOf, helpOption } from './options/parse-options.ts';
import { primaryRootIn } from './options/serve-options.ts';

const options = {
  'live-handlers': {
    kind: 'switch',
    help: "Run the workspace server's real handlers. Default: return the recorded results.",
  },
  step: {
    kind: 'switch',
    help: 'Wait for Enter before each input; q quits.',
  },
  inspect: {
    kind: 'text',
    placeholder: 'PORT|stately[:PORT]',
    optional: true,
    help: 'Show the replayed session on a page, like mcp-actors --inspect; best with --step. Waits for Enter at the end.',
  },
  help: helpOption,
} as const satisfies OptionTable;

const help = `Usage: mcp-actors replay [options] FILE [DIRECTORIES...]

Replays a recording made by --record: gives a session all recorded external input
with the recorded times and ids, and compares all output. Prints the
first difference with the preceding lines.

Directories are for the workspace server with --live-handlers. Default: the
recorded ones.

Options:
${optionsText(options)}

Exit status: 0 if the session matches the recording, 1 if it differs,
2 if the file cannot be replayed.
`;

export const command = commandOf(
  'mcp-actors replay',
  { options, help },
  async ({ values, positionals }) => {
    const [file, ...directories] = positionals;
    if (file === undefined) throw new UsageError('replay needs the FILE of a recording');
    const isLive = values['live-handlers'];
    if (directories.length > 0 && !isLive) {
      throw new UsageError('replay takes directories only with --live-handlers');
    }
    try {
      const recording = await readRecordingFile(file);
      const live = isLive ? liveOptions(recording, directories) : {};
      const wish = readInspectorSettings(values.inspect);
      const inspector = wish && (await openInspector(wish));
      try {
        const watching = inspector && {
          ...inspector.options,
          connectionWatchers: inspector.connectionWatchers,
        };
        return await play(recording, { ...live, ...watching }, values.step, wish);
      } finally {
        await inspector?.close();
      }
    } catch (error) {
      if (error instanceof RecordingError) throw new UsageError(error.message, { cause: error });
      throw error;
    }
  },
);

async function play(
  recording: Recording,
  live: ReplayOptions,
  isStepping: boolean,
  wish: InspectorSettings | undefined,
): Promise<number> {
  const walk = isStepping || wish ? startWalk() : undefined;
  try {
    const { difference, inputs, outputs, note } = await replay(recording, {
      ...live,
      ...(isStepping ? walk?.hooks : {}),
    });
    const { name } = recording;
    const told = difference
      ? differenceText(difference, recording)
      : shown(`${name}: as recorded: ${inputs} inputs given, ${outputs} outputs compared`);
    await print(process.stdout, told);
    if (note !== undefined) await print(process.stdout, shown(`${name}: ${note}`));
    if (wish) await walk?.pause('Press Enter to exit. ');
    return difference ? 1 : 0;
  } catch (error) {
    if (!(error instanceof Quit)) throw error;
    return 0;
  } finally {
    walk?.end();
  }
}

/** Options for a workspace server with the recorded launch options. */
function liveOptions({ name, header }: Recording, directories: readonly string[]): ReplayOptions {
  const launch: JsonObject = header?.launch ?? {};
  const cwd = typeof launch['cwd'] === 'string' ? launch['cwd'] : workingDirectory();
  const recorded = launch['directories'] ?? [];
  if (!isTexts(recorded)) {
    throw new RecordingError(
      `${name}:1: the header of the recording: "launch.directories" must be an array of strings, got ${inspectValue(recorded)}`,
    );
  }
  const primaryRoot = launch['primaryRoot'];
  const primary = typeof primaryRoot === 'string' ? primaryRootIn(primaryRoot) : undefined;
  const workspace = workspaceServer({
    directories: checkDirectories(directories.length > 0 ? directories : recorded, cwd).all,
    followRoots: launch['followRoots'] !== false,
    ...(primary === undefined ? {} : { primaryRoot: primary }),
    environment: process.env,
    cwd,
    home: homedir(),
    version: packageVersion(),
  });
  const server = createMcpServer(workspace.definition);
  return {
    server,
    onRootsUpdated: (report) => {
      workspace.rootsUpdated(report);
      server.resourceUpdated(workspaceRootsUri);
    },
  };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** Escapes control sequences, because a recording may contain any text. */
function shown(line: string): string {
  return `${printable(line)}\n`;
}

/** Thrown when the user types `q`. */
class Quit extends Error {}

/** Waits for a line of stdin before each step. After the end of stdin, steps do not wait. */
function startWalk() {
  const lines = createInterface({ input: process.stdin, terminal: false });
  const typed = lines[Symbol.asyncIterator]();
  /** Resolves with the typed line. */
  const pause = async (prompt: string) => {
    await print(process.stdout, prompt);
    const { value } = (await typed.next()) as IteratorResult<string, undefined>;
    return value?.trim();
  };
  return {
    pause,
    hooks: {
      before: async (input: Recording['lines'][number]) => {
        if ((await pause(`\n${input.number}? `)) === 'q') throw new Quit();
      },
      given: (input: Recording['lines'][number]) => {
        process.stdout.write(shown(`> ${input.number}  ${lineText(input)}`));
      },
      matched: (output: Recording['lines'][number]) => {
        process.stdout.write(shown(`  ${output.number}  ${lineText(output)}`));
      },
    },
    end: () => lines.close(),
  };
}
