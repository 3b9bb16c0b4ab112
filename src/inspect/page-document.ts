/** The page's HTML. It contains the charts, so that its script never parses text as markup. */
import { chartDrawings } from './charts/charts.ts';
import type { ChartName } from './charts/diagram.ts';

const chartNames = Object.keys(chartDrawings) as ChartName[];

/** The page's keyboard shortcuts, as it lists them. */
const shortcuts: readonly (readonly [keys: readonly string[], what: string])[] = [
  [['P'], 'pause, go on'],
  [['/'], 'filter'],
  [['↑', '↓'], 'choose an event'],
  [['C'], 'from an event to its cause or answer'],
  [chartNames.map((_, at) => `${at + 1}`), 'charts'],
  [['S'], 'next session'],
  [['Esc'], 'choose nothing'],
];

const section = (id: string, title: string, content: string, extra = ''): string => `
<section id="${id}" class="panel" aria-labelledby="${id}-title">
<header><h2 id="${id}-title">${title}</h2>${extra}</header>
${content}
</section>`;

const tabs = chartNames.map(
  (name, at) =>
    `<button role="tab" id="tab-${name}" data-chart="${name}" aria-controls="chart-${name}" aria-selected="${at === 0}" aria-keyshortcuts="${at + 1}"${at === 0 ? '' : ' tabindex="-1"'}><span>${name}</span> <code></code></button>`,
);
const charts = chartNames.map((name, at) => {
  // At most as wide as it was drawn: its text is never larger than the page's own.
  const width = /viewBox="[^"]*? ([\d.]+) [\d.]+"/.exec(chartDrawings[name])?.[1];
  const svg = chartDrawings[name].replace('<svg ', `<svg width="${width}" aria-hidden="true" `);
  return `<div role="tabpanel" id="chart-${name}" class="chart" tabindex="0" aria-labelledby="tab-${name}"${at === 0 ? '' : ' hidden'}><p class="visually-hidden"></p>${svg}</div>`;
});

const timeline = `
<div class="tools">
<label for="filter">Filter</label>
<input id="filter" type="search" placeholder="method, id, text; -word leaves out" autocomplete="off" spellcheck="false" aria-keyshortcuts="/">
<fieldset><legend class="visually-hidden">Show</legend>
<label><input type="checkbox" name="show" value="in" checked> from client</label>
<label><input type="checkbox" name="show" value="out" checked> to client</label>
<label><input type="checkbox" name="show" value="transition" checked> transitions</label>
</fieldset>
</div>
<div id="rows" role="listbox" tabindex="0" aria-label="Events, oldest first" aria-describedby="timeline-note"></div>
<p id="timeline-note" class="note">Nothing yet. Events are shown from the moment that this page was opened.</p>`;

const footer = shortcuts
  .map(
    ([keys, what]) =>
      `<div><dt>${keys.map((key) => `<kbd>${key}</kbd>`).join(' ')}</dt><dd>${what}</dd></div>`,
  )
  .join('');

const text = `<!doctype html>
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
<header class="bar">
<h1>mcp-actors</h1>
<label id="sessions-label" hidden>Session <select id="sessions" aria-keyshortcuts="s"></select></label>
<span id="connection" class="badge" role="status">connecting</span>
<button id="pause" type="button" aria-pressed="false" aria-keyshortcuts="p">Pause</button>
</header>
<main>
<section id="headline" aria-label="What the session does">
<p class="state"><strong id="state"></strong></p>
<p class="why"><span id="why"></span> <span id="since" class="ages"></span></p>
<p id="facts" class="facts"></p>
<p id="announcement" class="visually-hidden" role="status"></p>
</section>
${section('charts', 'Statecharts', charts.join('\n'), `<div role="tablist" aria-label="Charts">${tabs.join('')}</div>`)}
${section('waiting', 'Waiting for the client', '<div class="scroll" tabindex="0" role="group" aria-label="Pending requests"><table><thead><tr><th>request</th><th>id</th><th>for</th><th>age</th><th>given up in</th></tr></thead><tbody id="pending"></tbody></table></div><p id="pending-note" class="note"></p>')}
${section('work', "The client's requests", '<div class="scroll" tabindex="0" role="group" aria-label="Requests of the client"><table><thead><tr><th>request</th><th>id</th><th>state</th><th>age</th><th>asks</th></tr></thead><tbody id="calls"></tbody></table></div><p id="calls-note" class="note"></p>')}
${section('queues', 'Queues and caps', '<dl id="levels"></dl><p id="holds" class="note"></p>')}
${section('timeline', 'Timeline', timeline)}
${section('detail', 'Event', '<div id="event"></div>')}
${section('actors', 'Actors', '<ul id="tree" class="scroll" tabindex="0"></ul>')}
${section('roots', 'Roots', '<p id="provenance" class="note"></p><ul id="root-list" class="scroll" tabindex="0" aria-label="Roots"></ul>')}
${section('tasks', 'Tasks', '<ul id="task-list" class="scroll"></ul><p id="tasks-note" class="note"></p>')}
</main>
<footer><h2>Keys</h2><dl class="keys">${footer}</dl><p>Secrets are replaced, long texts cut. Everything here stays on this machine.</p></footer>
<noscript>This page needs its script.</noscript>
</body>
</html>
`;

export function document(): string {
  return text;
}
