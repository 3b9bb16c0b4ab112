/** The built-in workspace server: read-only tools over the roots boundary. */
import { rootsResolver } from 'mcp-actors/roots';
import { defineResource } from 'mcp-actors';
import type { RootsReport, ServerDefinition } from 'mcp-actors';
import { findFilesTool } from './tools/find-files.ts';
import { listDirectoryTool } from './tools/list-directory.ts';
import { readFileTool } from './tools/read-file.ts';
import { searchTextTool } from './tools/search-text.ts';
import { workspaceInfoTool } from './tools/workspace-info.ts';
import { gatherFacts } from './project/workspace-facts.ts';
import { whyChosen } from './project/project-notes.ts';
import { projectSkills } from './project/project-skills.ts';
import { createWorkspace } from './project/workspace.ts';
import type { Workspace, WorkspaceSources } from './project/workspace.ts';

export interface WorkspaceOptions extends WorkspaceSources {
  /** The server's version, as it introduces itself. */
  readonly version: string;
  /** Called after each roots update that leads to another project, or to another reason for it. */
  readonly onProject?: (project: ChosenProject) => void;
  /** Called with why a skill of the project is left out, once until that changes. Default: a process warning. */
  readonly onSkippedSkill?: (problem: string) => void;
}

/** The project that a session works in; `path` is undefined if there is none. */
export interface ChosenProject {
  /** The real path. */
  readonly path: string | undefined;
  /** For a person: why this one, or why none. */
  readonly why: string;
}

export interface WorkspaceServer {
  readonly definition: ServerDefinition;
  /**
   * To be called with every roots update of the session: running searches in roots that are gone
   * end with a `ToolError`.
   */
  rootsUpdated(report: RootsReport): void;
  /** The directories that a client without roots gets: real paths, the project first; `why` says why none of the fallbacks is used, if there are none. */
  withoutRoots(): Promise<{ readonly usable: readonly string[]; readonly why: string }>;
}

/** The URI of the resource with the same facts as `workspace_info`. */
export const workspaceRootsUri = 'workspace://roots';

const instructions = `Read-only access to the user's project. Call workspace_info to learn which project is open and which scripts it has. \
Use list_directory to look around, find_files to find files and directories by name, search_text to find lines, read_file to read them. Paths are relative to the project's root; \
if there are several roots, pass "root". What lies outside the roots boundary is refused with OUTSIDE_ROOTS.`;

/** What a client says that does not declare roots. */
const noRoots: RootsReport = { status: 'undeclared', generation: 0, settled: true, roots: [] };

/** Makes the workspace server of one session: two sessions never share one. */
export function workspaceServer(options: WorkspaceOptions): WorkspaceServer {
  const workspace = createWorkspace(options);
  const tellProject = projectTeller(workspace, options.onProject);
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
      // The message of an unexpected error may name what lies outside of the roots.
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

/** Tells the choice that the latest report leads to, if it is not what was told before. */
function projectTeller(workspace: Workspace, tell: WorkspaceOptions['onProject']) {
  let latest: RootsReport | undefined;
  let told: string | undefined;
  return async (report: RootsReport): Promise<void> => {
    if (tell === undefined) return;
    latest = report;
    const choice = await workspace.chooseFor(report);
    const path = choice.usable[0]?.path;
    const why = whyChosen(choice);
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
      'Which project this session works in, and every root with its path or the reason why it cannot be used.',
    mimeType: 'application/json',
    async read(context) {
      return JSON.stringify(await gatherFacts(workspace, context), undefined, 2);
    },
  });
}
