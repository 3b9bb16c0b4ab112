import type { Form, JsonObject } from 'mcp-actors';
import { latestHandshake } from '../../src/protocol/dialects/registry.ts';

/** The `requestedSchema` that a client gets of a form. */
export const requestedSchemaOf = (form: Form<unknown>, dialect = latestHandshake): JsonObject =>
  dialect.form('', form.description)['requestedSchema'] as JsonObject;
