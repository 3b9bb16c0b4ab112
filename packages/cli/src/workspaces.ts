/**
 * Workspaces of an HTTP server. Each session has its own. Sessionless clients share one per
 * requested project.
 */
import type { ServerWithOptions } from 'mcp-actors/internal';
import type { ServerUse } from 'mcp-actors/internal';
import { createMcpServer } from 'mcp-actors';
import type { ServedHttpRequest } from 'mcp-actors';
import { workspaceRootsUri, workspaceServer } from '@mcp-actors/workspace-server';
import type { WorkspaceOptions } from '@mcp-actors/workspace-server';

/** Maximum number of workspaces for sessionless clients; the least recently used is dropped. */
const maxKept = 64;

/**
 * Returns the workspace of a request.
 *
 * @param options options of every workspace
 */
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
 * Project requested in the URL, or undefined. Several values become a JSON text, which is rejected
 * because it is not a path.
 */
function projectPathIn(target: string): string | undefined {
  const at = target.indexOf('?');
  if (at === -1) return undefined;
  const paths = new URLSearchParams(target.slice(at)).getAll('project_path');
  return paths.length > 1 ? JSON.stringify(paths) : paths[0];
}
