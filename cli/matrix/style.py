"""The stylesheet of a matrix's HTML page: wide and narrow screens, dark mode, print."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root {
  color-scheme: light dark;
  --paper: #fcfcfa; --card: #ffffff; --ink: #1c2128; --soft: #59616d; --line: #dcdfe4; --link: #1f5a96;
  --good: #22683f; --good-bg: #eef5f0; --warn: #7d5300; --warn-bg: #faf3e0;
  --open: #41557a; --open-bg: #eef1f7; --bad: #a0282c; --bad-bg: #faecea; --none: #676e79; --none-bg: #f3f4f5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15181c; --card: #1b1f24; --ink: #e4e7eb; --soft: #a2abb7; --line: #343a42; --link: #8ab8e8;
    --good: #86c79f; --good-bg: #18261e; --warn: #e0b566; --warn-bg: #2a2315;
    --open: #a9bce0; --open-bg: #1c2332; --bad: #f0958f; --bad-bg: #311b1b; --none: #9aa2ad; --none-bg: #21252b;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body {
  margin: 0 auto; padding: 2.5rem clamp(1rem, 4vw, 3rem) 4rem; max-width: 82rem;
  background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: break-word;
}
h1, h2, h3, h4, caption { text-wrap: balance; }
h1 { margin: 0; font-size: clamp(1.5rem, 1.1rem + 2vw, 2.1rem); line-height: 1.2; letter-spacing: -0.015em; }
h1 + p { margin: .4rem 0 0; font-size: 1.1rem; color: var(--soft); }
h2 { margin: 3.5rem 0 0; font-size: 1.35rem; letter-spacing: -0.01em; }
h3 { margin: 2.2rem 0 .2rem; font-size: 1.1rem; }
h4 { margin: 0; font-size: 1rem; font-weight: 600; }
p { margin: .35rem 0; max-width: 78ch; }
a { color: var(--link); text-underline-offset: .15em; text-decoration-thickness: from-font; }
a:focus-visible, .scroll:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 2px; }
code { font: .92em ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-weight: 600; }
.quiet { color: var(--soft); font-size: .9em; }
.good { --tone: var(--good); --tint: var(--good-bg); }
.warn { --tone: var(--warn); --tint: var(--warn-bg); }
.open { --tone: var(--open); --tint: var(--open-bg); }
.bad  { --tone: var(--bad);  --tint: var(--bad-bg); }
.none { --tone: var(--none); --tint: var(--none-bg); }

.legend {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(11.5rem, 1fr)); gap: .9rem 1.6rem;
  margin: 1.6rem 0 0;
}
.legend dt { display: flex; align-items: baseline; gap: .5rem; }
.legend dd { margin: .3rem 0 0; color: var(--soft); font-size: .85rem; line-height: 1.4; }
.count { font-size: 1.15rem; font-weight: 600; }
.mark {
  padding: .08em .5em .1em; border: 1px solid currentColor; border-radius: 4px;
  background: var(--tint); color: var(--tone); font-size: .85rem; font-weight: 600; white-space: nowrap;
}

.scroll { margin-top: 2.2rem; overflow-x: auto; overscroll-behavior-x: contain; }
table { border-collapse: separate; border-spacing: 0; font-size: .92rem; line-height: 1.35; }
caption { caption-side: top; padding-bottom: .7rem; color: var(--soft); font-size: .85rem; text-align: left; }
th, td { padding: .55rem .8rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: bottom; }
thead th { border-bottom: 2px solid var(--ink); font-weight: 600; }
th a { color: inherit; text-decoration: none; }
th a:hover { text-decoration: underline; }
tbody th { font-weight: 600; vertical-align: middle; }
.matrix { min-width: 100%; }
.matrix th:first-child {
  position: sticky; left: 0; z-index: 1; min-width: 8rem; max-width: 17rem; padding-left: 0; background: var(--paper);
}
.matrix thead b, .matrix thead span { display: block; }
.matrix thead span { color: var(--soft); font-size: .8rem; font-weight: 400; }
.matrix td { padding: 0; border-left: 1px solid var(--line); background: var(--tint); vertical-align: middle; }
.matrix td a {
  display: block; padding: .6rem .8rem; white-space: nowrap;
  color: var(--tone); font-weight: 600; text-decoration: none;
}
.matrix td a:hover .word, .matrix td a:focus-visible .word { text-decoration: underline; }
.matrix td a:focus-visible { outline-offset: -3px; }
.users { display: block; max-width: 16rem; color: var(--soft); font-size: .8rem; font-weight: 400; }
.matrix .users { white-space: normal; }
.symbol + .word + .users { margin-top: .15rem; }
.symbol { display: inline-block; width: 1.15em; text-align: center; }
.dense thead th { padding: .5rem .2rem; }
.dense thead th + th { height: 9.5rem; text-align: left; }
.dense thead th + th a {
  display: inline-block; writing-mode: vertical-rl; transform: rotate(180deg); max-height: 14rem;
}
.dense thead b { white-space: nowrap; }
.dense thead span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.dense td a { padding: .45rem .2rem; text-align: center; }
.dense .word { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.dense .users { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.dense td { position: relative; min-width: 1.9rem; }
.pools th, .pools td { vertical-align: top; }
.pools th:first-child { padding-left: 0; }
tr:target > * { background: var(--open-bg); }

.cards {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr));
  gap: .9rem; margin-top: .8rem; align-items: start;
}
.why {
  min-width: 0; padding: .8rem 1.1rem .7rem; border: 1px solid var(--line); border-left: 4px solid var(--tone);
  border-radius: 4px; background: var(--card);
}
.why:target { outline: 2px solid var(--tone); outline-offset: 2px; }
.why ul { margin: .7rem 0 0; padding: 0; list-style: none; }
.why li { padding: .45rem 0; border-top: 1px solid var(--line); }
.severity { padding: 0 .35em; color: var(--soft); font-size: .85em; }
.used { margin: .5rem 0 0; font-size: .92rem; }
.why ul.used, ul.used { margin: 0 0 .3rem; padding-left: 1.1rem; list-style: disc; }
.why ul.used li { padding: .1rem 0; border: 0; }
details { margin-top: .5rem; }
summary { color: var(--link); font-size: .9rem; cursor: pointer; }
summary:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 2px; }
.remedy { margin: .7rem 0; padding: .5rem .7rem; border-radius: 4px; background: var(--tint); }
.nowrap { white-space: nowrap; }
.whole { display: inline-block; }
.names { margin: .5rem 0; padding: 0; list-style: none; }
.names li {
  display: inline-block; margin: 0 .5rem .3rem 0; padding: .1rem .6rem;
  border: 1px solid var(--line); border-radius: 4px;
}
.names li:target { outline: 2px solid var(--link); }
.remedy s { text-decoration-thickness: 1px; }
.back { margin: .4rem 0 0; font-size: .85rem; }
footer {
  margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--soft);
  font-size: .85rem;
}

@media (max-width: 40rem) {
  body { padding-top: 1.4rem; }
  .legend { grid-template-columns: 1fr; gap: .5rem; }
  .legend div { display: grid; grid-template-columns: 11rem 1fr; align-items: baseline; }
  .legend dd { margin: 0; }
  .scroll { margin-inline: -1rem; }
  .matrix th:first-child, .pools th:first-child { padding-left: 1rem; }
  .matrix th:first-child { min-width: 7.5rem; max-width: 8.5rem; }
  caption { padding-left: 1rem; }
  .matrix th, .matrix td a { padding-inline: .55rem; }
  .why { padding-inline: .8rem; }
}

@page { size: A4 landscape; margin: 14mm; }
@media print {
  :root {
    color-scheme: light;
    --paper: #fff; --card: #fff; --ink: #000; --soft: #3c434c; --line: #b4b9c0; --link: #000;
    --good: #22683f; --warn: #7d5300; --open: #41557a; --bad: #a0282c; --none: #676e79;
    --good-bg: #fff; --warn-bg: #fff; --open-bg: #fff; --bad-bg: #fff; --none-bg: #fff;
  }
  html { font-size: 9.5pt; }
  body { max-width: none; padding: 0; }
  .scroll { overflow: visible; }
  .matrix th:first-child { position: static; }
  thead { display: table-header-group; }
  tr, li, h4 { break-inside: avoid; }
  h2, h3, h4 { break-after: avoid; }
  .cards { display: block; }
  .why { margin: 0 0 .7rem; padding: .5rem .8rem; break-inside: avoid; font-size: .9rem; line-height: 1.4; }
  details { display: none; }
  .why li { padding: .3rem 0; }
  section > .quiet { break-after: avoid; }
  .remedy { padding: 0; }
  p { max-width: none; orphans: 3; widows: 3; }
  .bad .symbol, .bad .word { font-weight: 800; }
  .back { display: none; }
  a { text-decoration: none; }
}
"""
