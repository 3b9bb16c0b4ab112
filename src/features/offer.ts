/** What a server offers, shared by its sessions and changeable while they run. A kind that the definition does not name is not offered. */
import type { ServerDefinition } from '../define/definition.ts';
import type { Prompt } from '../define/prompt.ts';
import { Registry } from './registry.ts';
import type { Resource, ResourceTemplate } from '../define/resource.ts';
import type { Tool } from '../define/tool.ts';

export interface Offer {
  readonly tools: Registry<Tool>;
  readonly resources: Registry<Resource>;
  readonly resourceTemplates: Registry<ResourceTemplate>;
  readonly prompts: Registry<Prompt>;
}

export function offerOf(definition: ServerDefinition): Offer {
  const { tools, resources, resourceTemplates, prompts } = definition;
  return {
    tools: new Registry('tool', ({ name }) => name, tools),
    resources: new Registry('resource', ({ uri }) => uri, resources),
    resourceTemplates: new Registry(
      'resource template',
      ({ uriTemplate }) => uriTemplate,
      resourceTemplates,
    ),
    prompts: new Registry('prompt', ({ name }) => name, prompts),
  };
}
