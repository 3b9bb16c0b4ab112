/**
 * The page's HTML. It contains the machines' drawings, so that its script never parses text as
 * markup; what is shown, and when, is the script's.
 */
import { chartDrawings } from './charts/charts.ts';

const drawings = Object.entries(chartDrawings).map(([name, drawing]) => {
  // At most as wide as it was drawn: its text is never larger than the page's own.
  const width = /viewBox="[^"]*? ([\d.]+) [\d.]+"/.exec(drawing)?.[1];
  const svg = drawing.replace('<svg ', `<svg width="${width}" `);
  return `<template data-drawing="${name}">${svg}</template>`;
});

/** The page: the same for every session. */
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
${drawings.join('\n')}
</body>
</html>
`;
