/** The inspector's page. */
import { basename } from 'node:path';
import { build } from 'esbuild';
import { pastEntries, root } from './plugins.mjs';

/** The inspector's page: its scripts and its style, as modules of texts, which the inspector imports as `#inspect-page`. */
export async function pageAssets() {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: {
      page: 'packages/inspector/src/page/main.tsx',
      style: 'packages/inspector/src/page/page.css',
    },
    outdir: 'page',
    bundle: true,
    splitting: true,
    format: 'esm',
    // A module that a plugin has resolved is built without its tsconfig.json.
    jsx: 'automatic',
    jsxImportSource: 'preact',
    target: ['chrome109', 'firefox115', 'safari16.4'],
    minify: true,
    metafile: true,
    write: false,
    logLevel: 'warning',
    // The page takes words from `mcp-actors/internal`. What else that exports is left out, with what it needs.
    external: ['node:*', 'cross-spawn', 'jose'],
    plugins: [pastEntries],
  });
  const texts = outputFiles.map(({ path, text }) => ({ name: basename(path), text }));
  const scripts = texts.filter(({ name }) => name.endsWith('.js'));
  const style = texts.find(({ name }) => name.endsWith('.css'))?.text;
  const names = scripts.map(({ name }, index) => `${JSON.stringify(name)}: script${index}`);
  const files = new Map(
    scripts.map(({ name, text }) => [`page/${name}`, `export default ${JSON.stringify(text)};\n`]),
  );
  files.set(
    'page-assets.js',
    `${scripts.map(({ name }, index) => `import script${index} from './page/${name}';\n`).join('')}
export const scripts = { ${names.join(', ')} };
export const style = ${JSON.stringify(style)};
`,
  );
  return { files, metafile };
}
