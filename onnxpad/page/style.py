"""The style of a page: light and dark, for screens from phones up, and for paper."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark;
  --paper: light-dark(#ffffff, #0d1117); --card: light-dark(#f6f8fa, #161b22);
  --ink: light-dark(#1f2328, #e6edf3); --faint: light-dark(#57606a, #9da7b3);
  --line: light-dark(#d0d7de, #30363d); --accent: light-dark(#0550ae, #79c0ff);
  --good: light-dark(#116329, #7ee787); --warn: light-dark(#7d4e00, #f2cc60);
  --bad: light-dark(#a40e26, #ffa198); --data: light-dark(#c8d1da, #3d444d);
  --pad: light-dark(#eef5ff, #0f2038); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 ui-sans-serif, system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 66rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; line-height: 1.25; margin: 0 0 .5rem; }
h1::first-letter { text-transform: uppercase; }
h1 .badge { font-size: inherit; border: 0; padding: 0; }
h1 .command { font-size: .95rem; font-weight: 400; }
a { color: var(--accent); }
h2 { font-size: 1.25rem; margin: 2.75rem 0 .75rem; border-bottom: 1px solid var(--line); }
h3, h4 { margin: 0 0 .5rem; font-size: 1rem; }
p { margin: .5rem 0; }
.faint, .kicker, footer, figcaption { color: var(--faint); }
.strong, .badge, thead th { font-weight: 600; }
code { font: .88em/1.45 ui-monospace, Menlo, "DejaVu Sans Mono", monospace;
  unicode-bidi: isolate; background: var(--card); overflow-wrap: anywhere; }
.badge { padding: 0 .5rem; border: 1px solid; border-radius: 1rem; font-size: .85rem; }
.badge.good { color: var(--good); }
.badge.warning { color: var(--warn); }
.badge.error { color: var(--bad); }
code.command { padding: .1rem .4rem; border: 1px solid var(--line); border-radius: 4px;
  user-select: all; cursor: copy; }
.card { border: 1px solid var(--line); border-radius: 10px; margin: .75rem 0; padding: .7rem 1rem; }
summary { cursor: pointer; color: var(--accent); }
summary > * { display: inline; border: 0; font-size: 1rem; color: var(--ink); }
.entry { white-space: pre-wrap; font-size: .9rem; margin: .5rem 0 1rem; }
ul.names { margin: .4rem 0; padding-left: 1.2rem; max-height: 24rem; overflow-y: auto; }
figure { margin: 1rem 0; }
svg { display: block; max-width: 100%; height: auto; }
svg text { fill: var(--ink); font: 11px ui-sans-serif, system-ui, "DejaVu Sans", sans-serif; }
svg .data { fill: var(--data); stroke: var(--paper); }
svg .appended { fill: var(--good); }
svg .padding, svg .cropped { fill: var(--pad); stroke: var(--accent); stroke-dasharray: 3 2; }
svg .bar { stroke: var(--accent); stroke-width: 2; }
svg .taps { stroke: var(--accent); stroke-linecap: round; }
.scroll { overflow-x: auto; margin: .75rem 0; overflow-wrap: normal; }
table { border-collapse: collapse; font-size: .92rem; min-width: 50%; }
th, td { text-align: left; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; font-weight: 400; }
tbody th { min-width: 3rem; max-width: 26rem; overflow-wrap: anywhere; }
footer { margin-top: 3rem; }
@media print { :root { color-scheme: light; } figure, tr { break-inside: avoid; }
  details::details-content { content-visibility: visible; display: block; }
  .scroll, ul.names { overflow: visible; max-height: none; } h2 { break-after: avoid; } }
"""
