/** Resources: text, bytes, a URI template, and one that clients may subscribe to. */
import { defineResource, defineResourceTemplate } from 'mcp-actors';
import { redPixelPng } from './media.ts';

export const resources = [
  defineResource({
    uri: 'test://static-text',
    name: 'static-text',
    title: 'Static text',
    description: 'A text that never changes',
    mimeType: 'text/plain',
    read: () => 'This is the content of the static text resource.',
  }),
  defineResource({
    uri: 'test://static-binary',
    name: 'static-binary',
    title: 'Static image',
    description: 'An image that never changes',
    mimeType: 'image/png',
    read: () => Buffer.from(redPixelPng, 'base64'),
  }),
  defineResource({
    uri: 'test://watched-resource',
    name: 'watched-resource',
    title: 'Watched text',
    description: 'A text to subscribe to',
    mimeType: 'text/plain',
    read: () => 'Watched resource content',
  }),
];

export const resourceTemplates = [
  defineResourceTemplate({
    uriTemplate: 'test://template/{id}/data',
    name: 'template',
    title: 'Data by id',
    description: 'The data of one id',
    mimeType: 'application/json',
    read: (_uri, { id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
  }),
];
