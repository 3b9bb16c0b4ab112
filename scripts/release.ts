/**
 * `npm run release -- STEP [ARGUMENTS]`: the steps of a release, in their order. docs/maintaining/releasing.md says what comes before and between them.
 * A step loads its own modules: `node scripts/release.ts try packed` runs under Node 24 without any package.
 */

interface Step {
  readonly about: string;
  readonly run: (args: readonly string[]) => Promise<void>;
}

const steps: { readonly [name: string]: Step } = {
  write: {
    about: 'writes --version, --repository and --author into packages and documents',
    run: async (args) => (await import('./release/write.ts')).step(args),
  },
  check: {
    about: 'names what keeps the release from being published; --tag vVERSION compares the tag too',
    run: async (args) => (await import('./release/check.ts')).step(args),
  },
  lint: {
    about: 'checks the built packages with publint and their types with attw',
    run: async () => (await import('./release/lint.ts')).step(),
  },
  pack: {
    about: 'makes the tarballs, the bundle and the catalogue entry in packed/',
    run: async () => (await import('./release/pack.ts')).step(),
  },
  bundle: {
    about: 'makes the bundle for Claude Desktop alone: [FILE]',
    run: async (args) => (await import('./release/bundle.ts')).step(args),
  },
  try: {
    about: 'installs the packed files and greets the command in both eras: [FOLDER]',
    run: async (args) => (await import('./release/try.ts')).step(args),
  },
  publish: {
    about: 'publishes the packed files on npm; --dry-run',
    run: async (args) => (await import('./release/publish.ts')).step(args),
  },
  image: {
    about: 'builds the image and pushes it; --dry-run',
    run: async (args) => (await import('./release/image.ts')).step(args),
  },
  registry: {
    about: 'hands server.json to the official registry: validate or publish; --dry-run',
    run: async (args) => (await import('./release/registry.ts')).step(args),
  },
  notes: {
    about: 'prints what the changelog says of this version',
    run: async () => (await import('./release/notes.ts')).step(),
  },
};

const listed = (): string =>
  `npm run release -- STEP [ARGUMENTS]\n\n${Object.entries(steps)
    .map(([name, { about }]) => `  ${name.padEnd(8)}  ${about}\n`)
    .join('')}`;

const [name, ...args] = process.argv.slice(2);
const step = name !== undefined && Object.hasOwn(steps, name) ? steps[name] : undefined;
if (step !== undefined) {
  await step.run(args);
} else if (name === undefined) {
  process.stdout.write(listed());
} else {
  process.stderr.write(
    `A release has no step ${JSON.stringify(name)}. Choose one of these:\n\n${listed()}`,
  );
  process.exitCode = 2;
}
