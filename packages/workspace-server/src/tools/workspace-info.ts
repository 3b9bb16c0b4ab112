/** `workspace_info`: which project this session works in, and why. */
import { printableLines } from 'mcp-actors/internal';
import { defineTool } from 'mcp-actors';
import type { Tool } from 'mcp-actors';
import { gatherFacts, workspaceFactsSchema } from '../project/workspace-facts.ts';
import type { WorkspaceFacts } from '../project/workspace-facts.ts';
import type { Workspace } from '../project/workspace.ts';

/** Makes `workspace_info` over a session's workspace. */
export function workspaceInfoTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'workspace_info',
    title: 'About the workspace',
    description:
      'Tells which project this session works in and why, the other roots, those that cannot be used with the reason, the git branch, and the scripts or targets that the project declares. Call it first.',
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

/** What a client without roots need not be told. */
function rootsLines({ status, isStale, listed, usable, unusable = [] }: WorkspaceFacts['roots']) {
  const stale = isStale === true ? '; a newer list is being asked for' : '';
  const lines = unusable.map(({ uri, code, message }) => `  ${uri} — ${code}: ${message}`);
  const left = listed - usable - unusable.length;
  if (left > 0) lines.push(`  and ${left} more`);
  const isPlain = lines.length === 0 && stale === '';
  if (isPlain && (status !== 'known' || listed === usable)) return [];
  return [`Roots of the client: ${usable} of ${listed} can be used${stale}`, ...lines];
}
