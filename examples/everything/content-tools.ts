/** Tools that show the content types of a result. */
import { ToolError, defineTool } from 'mcp-actors';
import type { ContentBlock, Tool } from 'mcp-actors';
import { redPixelPng, silenceWav } from './media.ts';

const pixel: ContentBlock = { type: 'image', data: redPixelPng, mimeType: 'image/png' };

const simpleText = defineTool({
  name: 'test_simple_text',
  description: 'Gives a text',
  handler: () => 'This is a simple text response for testing.',
});

const image = defineTool({
  name: 'test_image_content',
  description: 'Gives an image',
  handler: () => [pixel],
});

const audio = defineTool({
  name: 'test_audio_content',
  description: 'Gives a sound',
  handler: () => [{ type: 'audio', data: silenceWav, mimeType: 'audio/wav' }],
});

const embeddedResource = defineTool({
  name: 'test_embedded_resource',
  description: 'Gives a resource with its contents',
  handler: () => [
    {
      type: 'resource',
      resource: {
        uri: 'test://embedded-resource',
        mimeType: 'text/plain',
        text: 'This is an embedded resource content.',
      },
    },
  ],
});

const mixed = defineTool({
  name: 'test_multiple_content_types',
  description: 'Gives a text, an image and a resource',
  handler: () => [
    { type: 'text', text: 'Multiple content types test:' },
    pixel,
    {
      type: 'resource',
      resource: {
        uri: 'test://mixed-content-resource',
        mimeType: 'application/json',
        text: JSON.stringify({ test: 'data', value: 123 }),
      },
    },
  ],
});

const failing = defineTool({
  name: 'test_error_handling',
  description: 'Fails, and tells the model why',
  handler: () => {
    throw new ToolError('This tool intentionally returns an error for testing');
  },
});

/** A schema with keywords that some implementations drop. Clients receive it unchanged. */
const contact = defineTool({
  name: 'json_schema_2020_12_tool',
  description: 'Takes what a schema of JSON Schema 2020-12 describes',
  inputSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema's
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  },
  handler: (args) => `Taken: ${JSON.stringify(args)}`,
});

/** A parameter that HTTP clients mirror in the header `Mcp-Param-Region`. */
const mirrored = defineTool({
  name: 'test_x_mcp_header',
  description: 'Takes a region, which is also in a header',
  inputSchema: {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
  },
  handler: ({ region = 'none' }) => `The region is ${region}`,
});

export const contentTools: readonly Tool[] = [
  simpleText,
  image,
  audio,
  embeddedResource,
  mixed,
  failing,
  contact,
  mirrored,
];
