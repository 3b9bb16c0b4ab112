/** `workspace_info`: describes the session's project and why it was chosen. */
import { printableLines } from 'mcp-actors/internal';
import { defineTool } from 'mcp-actors';
import type { Tool } from 'mcp-actors';
import { gatherFacts, workspaceFactsSchema } from '../project/workspace-facts.ts';
import type { WorkspaceFacts } from '../project/workspace-facts.ts';
import type { Workspace } from '../project/workspace.ts';

/** Creates `workspace_info` for a session's workspace. */
export function workspaceInfoTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'workspace_info',
    title: 'About the workspace',
    description:
      'Returns the project of this session and why it was chosen, the other roots, unusable roots with the reason, the git branch, and the scripts or targets the project declares. Call it first.',
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    outputSchema: workspaceFactsSchema,
    async handler(_, context) {
      const structured = await gatherFacts(workspace, context);
      return { structured, content: [{ type: 'text', text: factsText(structured) }] };
    },
  });
}

function factsText(facts: WorkspaceFacts): string {
  const { project, why, others = [], git, scripts = [], warnings = [] } = facts;
  return printableLines([
    ...(project === undefined ? [`Project: none. ${why}`] : [`Project: ${project.path} (${why})`]),
    ...(git === undefined ? [] : [`Git: ${git.branch ?? git.commit ?? git.problem}`]),
    ...others.map(({ name, path }) => `Also: ${path}, root ${JSON.stringify(name)}`),
    ...rootsLines(facts.roots),
    ...scripts.map(({ file, runner, names, problem }) => {
      const how = runner === '' ? file : `${file} (${runner})`;
      return `${how}: ${names.join(', ')}${problem === undefined ? '' : ` (${problem})`}`;
    }),
    ...warnings.map((warning) => `Warning: ${warning}`),
  ]);
}

/** Lines about the roots; none if there is nothing to report. */
function rootsLines({ status, isStale, listed, usable, unusable = [] }: WorkspaceFacts['roots']) {
  const stale = isStale === true ? '; a newer list has been requested' : '';
  const lines = unusable.map(({ uri, code, message }) => `  ${uri} — ${code}: ${message}`);
  const left = listed - usable - unusable.length;
  if (left > 0) lines.push(`  and ${left} more`);
  const isPlain = lines.length === 0 && stale === '';
  if (isPlain && (status !== 'known' || listed === usable)) return [];
  return [`Roots of the client: ${usable} of ${listed} usable${stale}`, ...lines];
}
