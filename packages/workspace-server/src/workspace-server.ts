/** Built-in workspace server: read-only tools inside the roots boundary. */
import { rootsResolver } from 'mcp-actors/roots';
import { defineResource } from 'mcp-actors';
import type { RootsReport, ServerDefinition } from 'mcp-actors';
import { findFilesTool } from './tools/find-files.ts';
import { listDirectoryTool } from './tools/list-directory.ts';
import { readFileTool } from './tools/read-file.ts';
import { searchTextTool } from './tools/search-text.ts';
import { workspaceInfoTool } from './tools/workspace-info.ts';
import { gatherFacts } from './project/workspace-facts.ts';
import { explainChoice } from './project/project-notes.ts';
import { projectSkills } from './project/project-skills.ts';
import { createWorkspace } from './project/workspace.ts';
import type { Workspace, WorkspaceSources } from './project/workspace.ts';

export interface WorkspaceOptions extends WorkspaceSources {
  /** Version the server reports. */
  readonly version: string;
  /** Called after each roots update that changes the project or the reason for it. */
  readonly onProject?: (project: ChosenProject) => void;
  /**
   * Called with the reason why a project skill is skipped, once until the reason changes. Default:
   * a process warning.
   */
  readonly onSkippedSkill?: (problem: string) => void;
}

/** A session's project; `path` is undefined if there is none. */
export interface ChosenProject {
  /** Real path. */
  readonly path: string | undefined;
  /** Readable reason for this project, or for having none. */
  readonly why: string;
}

export interface WorkspaceServer {
  readonly definition: ServerDefinition;
  /**
   * Must be called with every roots update of the session. Running searches in removed roots end
   * with a `ToolError`.
   */
  rootsUpdated(report: RootsReport): void;
  /**
   * Directories for a client without roots: real paths, project first. If there are none, `why`
   * explains why the fallbacks are unused.
   */
  withoutRoots(): Promise<{ readonly usable: readonly string[]; readonly why: string }>;
}

/** URI of the resource with the same facts as `workspace_info`. */
export const workspaceRootsUri = 'workspace://roots';

const instructions = `Read-only access to the user's project. Call workspace_info to learn which project is open and which scripts it has. \
Use list_directory to look around, find_files to find files and directories by name, search_text to find lines, read_file to read them. Paths are relative to the project's root; \
if there are several roots, pass "root". Paths outside the roots are refused with OUTSIDE_ROOTS.`;

/** Report of a client that does not declare roots. */
const noRoots: RootsReport = { status: 'undeclared', generation: 0, settled: true, roots: [] };

/** Creates the workspace server of one session. Sessions must not share one. */
export function workspaceServer(options: WorkspaceOptions): WorkspaceServer {
  const workspace = createWorkspace(options);
  const tellProject = projectReporter(workspace, options.onProject);
  return {
    definition: {
      name: 'mcp-actors-workspace',
      title: 'Workspace',
      version: options.version,
      instructions,
      tools: [
        workspaceInfoTool(workspace),
        listDirectoryTool(workspace),
        findFilesTool(workspace),
        searchTextTool(workspace),
        readFileTool(workspace),
      ],
      resources: [rootsResource(workspace)],
      skills: projectSkills(workspace, options.onSkippedSkill),
      resolveRoots: rootsResolver(),
      // Messages of unexpected errors may reveal paths outside the roots.
      errors: 'mask',
    },
    rootsUpdated(report) {
      workspace.rootsUpdated(report);
      void tellProject(report);
    },
    async withoutRoots() {
      const { usable, skipped } = await workspace.chooseFor(noRoots);
      const fallbacks = skipped.filter(({ source }) => source === 'env' || source === 'cwd');
      return {
        usable: usable.map(({ path }) => path),
        why: fallbacks.map(({ reason }) => reason).join('; '),
      };
    },
  };
}

/** Reports the choice for the latest roots report if it has changed. */
function projectReporter(workspace: Workspace, tell: WorkspaceOptions['onProject']) {
  let latest: RootsReport | undefined;
  let told: string | undefined;
  return async (report: RootsReport): Promise<void> => {
    if (tell === undefined) return;
    latest = report;
    const choice = await workspace.chooseFor(report);
    const path = choice.usable[0]?.path;
    const why = explainChoice(choice);
    const news = JSON.stringify([path, why]);
    if (report !== latest || news === told) return;
    told = news;
    tell({ path, why });
  };
}

function rootsResource(workspace: Workspace) {
  return defineResource({
    uri: workspaceRootsUri,
    name: 'roots',
    title: 'Roots and project',
    description:
      'The project of this session, and every root with its path or the reason it is unusable.',
    mimeType: 'application/json',
    async read(context) {
      return JSON.stringify(await gatherFacts(workspace, context), undefined, 2);
    },
  });
}
