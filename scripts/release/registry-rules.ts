/**
 * What the official registry asks of a `server.json`, said in our own words: its schema of 2025-12-11, and what it checks
 * besides when somebody publishes. Stricter in one thing: an unknown member is a fault.
 *
 * @see https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json
 */
import { z } from 'zod';
import { registrySchema } from './shelf.ts';

const version = z
  .string()
  .max(255)
  .refine((text) => /^v?\d[\w.+-]*$/.test(text) && !/(^|\.)[xX*](\.|$)/.test(text), {
    error: 'is one version, neither a range nor "latest"',
  });

const https = z.url({ protocol: /^https$/ });

const input = {
  description: z.string().optional(),
  format: z.enum(['string', 'number', 'boolean', 'filepath']).optional(),
  isRequired: z.boolean().optional(),
  isSecret: z.boolean().optional(),
  default: z.string().optional(),
  placeholder: z.string().optional(),
  choices: z.array(z.string()).optional(),
  value: z.string().optional(),
};

const variables = z.record(z.string(), z.strictObject(input)).optional();

const positional = z
  .strictObject({
    ...input,
    type: z.literal('positional'),
    valueHint: z.string().optional(),
    isRepeated: z.boolean().optional(),
    variables,
  })
  .refine((argument) => argument.valueHint !== undefined || argument.value !== undefined, {
    error: 'needs a valueHint or a value',
  });

const named = z
  .strictObject({
    ...input,
    type: z.literal('named'),
    name: z.string().regex(/^[^\s<>$]+$/, 'is the flag alone'),
    isRepeated: z.boolean().optional(),
    variables,
  })
  .refine(
    (argument) =>
      ![argument.value, argument.default].some((text) => text?.startsWith(argument.name)),
    { error: 'repeats its name in its value' },
  );

const described = <S extends z.ZodType<{ readonly description?: string | undefined }>>(schema: S) =>
  schema.refine((each) => each.description !== undefined, { error: 'has no description' });

const shared = {
  registryBaseUrl: z.url().optional(),
  runtimeHint: z.enum(['npx', 'docker']),
  runtimeArguments: z.array(described(z.union([positional, named]))).optional(),
  packageArguments: z.array(described(z.union([positional, named]))).optional(),
  environmentVariables: z
    .array(described(z.strictObject({ ...input, name: z.string().min(1), variables })))
    .optional(),
};

const npmPackage = z.strictObject({
  ...shared,
  registryType: z.literal('npm'),
  registryBaseUrl: z.literal('https://registry.npmjs.org').optional(),
  identifier: z.string().regex(/^\S+$/),
  version,
  transport: z.strictObject({ type: z.literal('stdio') }),
});

/** Its version is in its identifier; a member for it is refused. */
const ociPackage = z.strictObject({
  ...shared,
  registryType: z.literal('oci'),
  identifier: z
    .string()
    .regex(/^(docker\.io|ghcr\.io|quay\.io)(\/[a-z\d]+([._-]+[a-z\d]+)*)+:[\w][\w.-]{0,127}$/, {
      error: 'is registry/owner/name:tag, in small letters',
    }),
  transport: z.union([
    z.strictObject({ type: z.literal('stdio') }),
    // A variable in it would have to be the name of an argument.
    z.strictObject({
      type: z.literal('streamable-http'),
      url: z.url().regex(/^[^{}]*$/),
    }),
  ]),
});

const nameRule = 'is io.github.OWNER/NAME, with the owner as GitHub spells it';

const entry = z.strictObject({
  $schema: z.literal(registrySchema),
  name: z
    .string({ error: 'is missing' })
    .max(200)
    .regex(/^[a-zA-Z\d][a-zA-Z\d.-]*[a-zA-Z\d]\/[a-zA-Z\d][a-zA-Z\d._-]*[a-zA-Z\d]$/, nameRule),
  title: z.string().trim().min(1).max(100),
  description: z.string().min(1).max(100),
  version,
  repository: z.strictObject(
    {
      url: https.regex(/^https:\/\/github\.com\/[\w-]+\/[\w.-]+$/),
      source: z.literal('github'),
      subfolder: z
        .string()
        .regex(/^[\w-]+(\/[\w.-]+)*$/)
        .optional(),
    },
    { error: ({ input: given }) => (given === undefined ? 'is missing' : undefined) },
  ),
  websiteUrl: https.optional(),
  packages: z.array(z.discriminatedUnion('registryType', [npmPackage, ociPackage])).min(1),
});

/** What is wrong with an entry; each with the path of the member. */
export function faultsOfEntry(given: unknown): readonly string[] {
  const { error } = entry.safeParse(given);
  return (error?.issues ?? []).map(({ path, message }) => {
    const place = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`));
    return `${place.join('').replace(/^\./, '')} ${message}`.trim();
  });
}
