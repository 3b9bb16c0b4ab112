/** Prompts: plain, with arguments and completion, with a resource, and with an image. */
import { definePrompt } from 'mcp-actors';
import { redPixelPng } from './media.ts';
import { roundPrompt } from './round-tools.ts';

const places = ['Paris', 'Park', 'Party', 'Prague'];

export const prompts = [
  definePrompt({
    name: 'test_simple_prompt',
    title: 'Simple prompt',
    description: 'A prompt without arguments',
    get: () => 'This is a simple prompt for testing.',
  }),
  definePrompt({
    name: 'test_prompt_with_arguments',
    title: 'Prompt with arguments',
    description: 'A prompt with two arguments',
    arguments: {
      arg1: {
        description: 'The first argument: a place',
        required: true,
        complete: (value: string) =>
          places.filter((place) => place.toLowerCase().startsWith(value.toLowerCase())),
      },
      arg2: { description: 'The second argument', required: true },
    },
    get: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  }),
  definePrompt({
    name: 'test_prompt_with_embedded_resource',
    title: 'Prompt with a resource',
    description: 'A prompt that holds a resource',
    arguments: { resourceUri: { description: 'The URI of the resource', required: true } },
    get: ({ resourceUri }) => [
      {
        role: 'user',
        content: {
          type: 'resource',
          resource: {
            uri: resourceUri,
            mimeType: 'text/plain',
            text: 'Embedded resource content for testing.',
          },
        },
      },
      {
        role: 'user',
        content: { type: 'text', text: 'Please process the embedded resource above.' },
      },
    ],
  }),
  definePrompt({
    name: 'test_prompt_with_image',
    title: 'Prompt with an image',
    description: 'A prompt that holds an image',
    get: () => [
      { role: 'user', content: { type: 'image', data: redPixelPng, mimeType: 'image/png' } },
      { role: 'user', content: { type: 'text', text: 'Please analyze the image above.' } },
    ],
  }),
  roundPrompt,
];
