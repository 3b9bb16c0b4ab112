/** `workspace_info`: which project this session works in, and why. */
import { printableLines } from '../../protocol/printable.ts';
import { defineTool } from '../../define/tool.ts';
import type { Tool } from '../../define/tool.ts';
import { gatherFacts, workspaceFactsSchema } from '../project/workspace-facts.ts';
import type { WorkspaceFacts } from '../project/workspace-facts.ts';
import type { Workspace } from '../project/workspace.ts';

const maxTextScripts = 30;

/** Makes `workspace_info` over a session's workspace. */
export function workspaceInfoTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'workspace_info',
    title: 'About the workspace',
    description:
      'Tells which project this session works in and why, every root with its path or the reason why it cannot be used, the git branch, and the scripts or targets that the project declares. Call it first.',
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
  const { project, why, roots, git, scripts, warnings } = facts;
  const settled = roots.settled ? '' : ', a newer list is being asked for';
  return printableLines([
    project === undefined ? 'Project: none' : `Project: ${project.path}`,
    `Why: ${why}`,
    ...(git === undefined ? [] : [`Git: ${git.branch ?? git.commit ?? git.problem}`]),
    `Roots: ${roots.status}${settled}; ${roots.usable} of ${roots.declared} usable`,
    ...roots.entries.map(
      ({ uri, name, path, problem }) =>
        `  ${name === undefined ? '' : `${name}: `}${problem === undefined ? path : `${uri} — ${problem.code}: ${problem.message}`}`,
    ),
    ...scripts.map(({ file, scripts: declared, problem }) =>
      [`${file}: ${names(declared)}`, ...(problem === undefined ? [] : [`(${problem})`])].join(' '),
    ),
    ...warnings.map((warning) => `Warning: ${warning}`),
  ]);
}

function names(scripts: readonly { readonly name: string }[]): string {
  const shown = scripts.slice(0, maxTextScripts).map(({ name }) => name);
  const more =
    scripts.length > maxTextScripts ? `, and ${scripts.length - maxTextScripts} more` : '';
  return shown.join(', ') + more;
}
