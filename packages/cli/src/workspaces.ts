/**
 * The workspaces of a server over HTTP. Each session has its own. Clients without sessions share
 * one if they ask for the same project.
 */
import type { ServerWithOptions } from 'mcp-actors/internal';
import type { ServerUse } from 'mcp-actors/internal';
import { createMcpServer } from 'mcp-actors';
import type { ServedHttpRequest } from 'mcp-actors';
import { workspaceRootsUri, workspaceServer } from '@mcp-actors/workspace-server';
import type { WorkspaceOptions } from '@mcp-actors/workspace-server';

/** How many are kept for clients without sessions; the one that was asked for least lately goes. */
const maxKept = 64;

/** Gives the workspace that a request is for. @param options of each of them */
export function workspacesOf(
  options: WorkspaceOptions,
): (request: ServedHttpRequest, use: ServerUse) => ServerWithOptions {
  const kept = new Map<string | undefined, ServerWithOptions>();
  return (request, use) => {
    const projectPath = projectPathIn(request.target);
    if (use === 'session') return workspaceFor(options, projectPath);
    const served = kept.get(projectPath) ?? workspaceFor(options, projectPath);
    kept.delete(projectPath);
    kept.set(projectPath, served);
    if (kept.size > maxKept) {
      const [oldest] = kept.keys();
      kept.delete(oldest);
    }
    return served;
  };
}

function workspaceFor(
  options: WorkspaceOptions,
  projectPath: string | undefined,
): ServerWithOptions {
  const workspace = workspaceServer({
    ...options,
    ...(projectPath === undefined ? {} : { projectPath }),
  });
  const server = createMcpServer(workspace.definition);
  return {
    server,
    session: {
      onRootsUpdated: (report) => {
        workspace.rootsUpdated(report);
        server.resourceUpdated(workspaceRootsUri);
      },
    },
  };
}

/**
 * The project that a client asks for in the URL; undefined if it asks for none. Several values
 * become a JSON text, which is not a path and is refused.
 */
function projectPathIn(target: string): string | undefined {
  const at = target.indexOf('?');
  if (at === -1) return undefined;
  const paths = new URLSearchParams(target.slice(at)).getAll('project_path');
  return paths.length > 1 ? JSON.stringify(paths) : paths[0];
}
