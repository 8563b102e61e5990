#pragma once

namespace wick {

// The colours are those of web/style/base.css and the ends of the scales of web/script/inside/heat.js.
inline constexpr char kPageStyle[] = R"css(
:root{color-scheme:light dark;--page:#fbf8f3;--ink:#241d17;--soft:#6d6257;--line:#e5dccf;--panel:#fffdfa;
--above:203 90 0;--below:31 125 207;--on-dark:#fffaf3}
@media (prefers-color-scheme:dark){:root{--page:#151210;--ink:#ece4d9;--soft:#a89b8d;--line:#312a24;--panel:#1d1916;
--above:255 187 95;--below:112 189 255;--on-dark:#241d17}}
body{margin:2rem auto;padding:0 1.5rem;max-width:110rem;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0 0 .5rem}h2{font-size:1.0625rem;margin:2rem 0 .2rem}
h1,h2{font-weight:600;font-family:"Iowan Old Style","Palatino Linotype",Palatino,"URW Palladio L",Georgia,"DejaVu Serif",serif}
p{margin:.1rem 0 .6rem;color:var(--soft)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:0}dt{color:var(--soft)}
dd{margin:0;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext}
pre{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:.7rem 1rem;margin:.3rem 0;
white-space:pre-wrap;overflow-wrap:anywhere;font:inherit;unicode-bidi:plaintext}
.scroll{overflow:auto;max-height:85vh;border:1px solid var(--line);border-radius:6px;background:var(--panel);
width:fit-content;max-width:100%}
table{border-collapse:separate;border-spacing:1px;font:12.5px/1.35 ui-monospace,"DejaVu Sans Mono",monospace}
th{font-weight:normal;color:var(--soft);background:var(--panel);text-align:left;white-space:pre;padding:2px 6px}
td{white-space:pre;unicode-bidi:isolate;padding:2px 6px}
thead th{position:sticky;top:0;z-index:1}thead tr.labels th{color:var(--ink);border-bottom:1px solid var(--line)}
thead tr.numbers+tr.labels th{top:calc(1.35em + 6px)}
tbody th,thead th:first-child{position:sticky;left:0;z-index:1}thead th:first-child{z-index:2}
.heat tbody th{text-align:right}
.heat td{background:rgb(var(--above)/var(--s));cursor:default;text-align:center}
.heat td.below{background:rgb(var(--below)/var(--s))}.heat td.dark{color:var(--on-dark)}
.heat td:hover{outline:2px solid var(--ink);outline-offset:-1px}
.narrow td{min-width:1.1rem;padding:1px 2px}.narrow thead th{padding:2px;text-align:center}
.narrow tr.labels span{writing-mode:vertical-rl;transform:rotate(180deg);max-height:9rem;overflow:hidden}
.narrow tr.labels th{vertical-align:bottom}
.list{border-spacing:0}.list td,.list th{padding:2px 12px;text-align:right;border-bottom:1px solid var(--line)}
.list td:first-child,.list th:first-child,.left td,.left th{text-align:left}
#detail{position:fixed;z-index:9;max-width:28rem;padding:.5rem .8rem;background:var(--ink);color:var(--page);
border-radius:6px;white-space:pre-wrap;pointer-events:none;font:12.5px/1.4 ui-monospace,monospace}
)css";

// Shows what a cell holds beside the pointer, in place of the browser's own slow hint.
inline constexpr char kPageScript[] = R"js(
const box = document.getElementById('detail');
document.addEventListener('pointerover', (event) => {
  const cell = event.target.closest('td[title],td[data-detail]');
  if (!cell) return void (box.hidden = true);
  if (cell.title) { cell.dataset.detail = cell.title; cell.removeAttribute('title'); }
  box.textContent = cell.dataset.detail;
  box.hidden = false;
  const at = cell.getBoundingClientRect(), size = box.getBoundingClientRect();
  const below = at.bottom + size.height + 8 < innerHeight;
  box.style.left = Math.max(4, Math.min(at.left, innerWidth - size.width - 8)) + 'px';
  box.style.top = (below ? at.bottom + 6 : Math.max(4, at.top - size.height - 6)) + 'px';
});
document.addEventListener('scroll', () => { box.hidden = true; }, true);
)js";

// Nothing is fetched; the script above runs and no other: its SHA-256 stands here.
inline constexpr char kPagePolicy[] =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'sha256-cGJIBn+Ya0jrxTZNWP6OovmY/SA7oKB88KV3crgjZ6w='\" />\n";

}  // namespace wick
