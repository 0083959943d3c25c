"""The style of a page: light and dark, for screens from phones up, and for paper."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark;
  --paper: #ffffff; --card: #f6f8fa; --ink: #1f2328; --faint: #57606a; --line: #d0d7de;
  --accent: #0550ae; --good: #116329; --good-ground: #dafbe1; --warn: #7d4e00;
  --warn-ground: #fff8c5; --bad: #a40e26; --bad-ground: #ffebe9; --plain-ground: #eaeef2;
  --data: #c8d1da; --pad: #eef5ff; --window: #0550ae; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #0d1117; --card: #161b22; --ink: #e6edf3; --faint: #9da7b3; --line: #30363d;
  --accent: #79c0ff; --good: #7ee787; --good-ground: #12261e; --warn: #f2cc60;
  --warn-ground: #2b2410; --bad: #ffa198; --bad-ground: #3c1618; --plain-ground: #21262d;
  --data: #3d444d; --pad: #0f2038; --window: #79c0ff; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 ui-sans-serif, system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
.page { max-width: 66rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 1rem; padding: .5rem 1rem; background: var(--paper); z-index: 1; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
a { color: var(--accent); }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.75rem 0 .75rem; border-bottom: 1px solid var(--line); }
h3, h4 { margin: 0 0 .5rem; font-size: 1rem; }
h1, h2, h3, h4, p, nav, code { overflow-wrap: anywhere; }
p { margin: .5rem 0; }
.kicker, footer, figcaption { color: var(--faint); font-size: .9rem; }
.faint { color: var(--faint); }
.strong { font-weight: 600; }
code { font: .88em/1.45 ui-monospace, "SFMono-Regular", Menlo, "DejaVu Sans Mono", monospace;
  unicode-bidi: isolate; background: var(--plain-ground); padding: .08em .3em; }
.badge { padding: .05rem .6rem; border-radius: 1rem; font-size: .85rem; font-weight: 600;
  background: var(--plain-ground); color: var(--ink); white-space: nowrap; }
.badge.good { background: var(--good-ground); color: var(--good); }
.badge.warning { background: var(--warn-ground); color: var(--warn); }
.badge.error { background: var(--bad-ground); color: var(--bad); }
nav ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
.card { border: 1px solid var(--line); border-radius: 10px; margin: .75rem 0; padding: .7rem 1rem; }
summary { cursor: pointer; color: var(--accent); }
ul.names { margin: .4rem 0; padding-left: 1.2rem; max-height: 24rem; overflow-y: auto; }
figure { margin: 1rem 0; }
svg { display: block; max-width: 100%; height: auto; }
svg text { fill: var(--ink); font: 10px ui-sans-serif, system-ui, "DejaVu Sans", sans-serif; }
svg .data { fill: var(--data); stroke: var(--paper); }
svg .padding { fill: var(--pad); stroke: var(--window); stroke-dasharray: 3 2; }
svg .bar { stroke: var(--window); stroke-width: 2; }
svg .taps { stroke: var(--window); stroke-linecap: round; }
.scroll { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; font-size: .92rem; min-width: 50%; }
th, td { text-align: left; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; font-weight: 400; }
thead th { font-weight: 600; }
tbody th { min-width: 9rem; max-width: 26rem; }
footer { margin-top: 3rem; }
@media print { :root { color-scheme: light; } .skip, nav { display: none; }
  .card, figure, tr { break-inside: avoid; }
  .scroll, ul.names { overflow: visible; max-height: none; } h2 { break-after: avoid; } }
"""
