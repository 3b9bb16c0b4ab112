/**
 * The page's HTML. Machine definitions are embedded as JSON; the script renders everything else.
 */
import { charts } from 'mcp-actors/internal';
import { machineDefinition } from './charts/machine-definition.ts';

const definitions = Object.fromEntries(
  Object.entries(charts).map(([name, machine]) => [name, machineDefinition(machine)]),
);

/** The document, identical for every session. */
export const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>mcp-actors</title>
<link rel="icon" href="icon.svg">
<link rel="stylesheet" href="page.css">
<script type="module" src="page.js"></script>
</head>
<body>
<div id="page"></div>
<noscript>This page needs its script.</noscript>
<script type="application/json" id="machines">${JSON.stringify(definitions).replaceAll('<', '\\u003c')}</script>
</body>
</html>
`;
