import type { Form, JsonObject } from 'mcp-actors';
import { latestDialect } from '../../src/protocol/dialects/registry.ts';

/** The `requestedSchema` that a client gets of a form. */
export const requestedSchemaOf = (form: Form<unknown>, dialect = latestDialect): JsonObject =>
  dialect.form('', form.description)['requestedSchema'] as JsonObject;
