/** The page's document. The charts stand in it, so that its script parses no text as markup. */
import { chartDrawings } from './charts.ts';

export function document(): string {
  const charts = Object.entries(chartDrawings).map(
    ([name, drawing]) => `<figure class="chart" data-chart="${name}">${drawing}</figure>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mcp-actors</title>
<link rel="stylesheet" href="page.css">
<script type="module" src="page.js"></script>
</head>
<body>
${charts.join('\n')}
</body>
</html>
`;
}
