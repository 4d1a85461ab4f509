/**
 * The rules of the pages: light, dark and on paper, from 320 px up. Text has a contrast of 4.5:1 or more, bars have 3:1.
 * No element has an inline style, which the policy forbids: measures of drawings are attributes.
 */
const light = '--back:#f6f6f3;--ink:#1b1c1e;--soft:#55585e;--line:#dedfda;--rest:#8d9299';
const dark = '--back:#131416;--ink:#f2f2ef;--soft:#aab0b7;--line:#2d3035;--rest:#71777f';

export const pageRules = [
  `:root{color-scheme:light dark;${light}}`,
  `@media screen and (prefers-color-scheme:dark){:root{${dark}}}`,
  '*{box-sizing:border-box;margin:0}',
  'html{-webkit-text-size-adjust:100%}',
  'body{background:var(--back);color:var(--ink);border-top:.375rem solid var(--accent);' +
    'font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}',
  'main{max-width:56rem;margin:0 auto;padding:2rem 1.25rem 3rem;overflow-wrap:anywhere}',
  '.mark{font-weight:600;margin-bottom:1rem}',
  'img.mark{display:block;max-width:12rem;max-height:4rem}',
  '@media screen and (prefers-color-scheme:dark){img.mark{padding:.5rem;border-radius:.5rem;background:#fff}}',
  'h1{font-size:clamp(1.5rem,5vw,2rem);line-height:1.2;letter-spacing:-.015em;text-wrap:balance}',
  'h2{font-size:1.0625rem;margin-bottom:.75rem}',
  '.soft{color:var(--soft)}',
  'a{color:var(--accent)}',
  'a:focus-visible,summary:focus-visible,button:focus-visible{outline:2px solid var(--accent);outline-offset:2px}',
  'nav{display:flex;flex-wrap:wrap;gap:.5rem;margin:1.25rem 0 0}',
  'nav a{padding:.375rem .875rem;border:1px solid var(--line);border-radius:99px;text-decoration:none;color:var(--ink)}',
  'nav a[aria-current]{border-color:var(--accent);color:var(--accent);font-weight:600}',
  '.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:1rem 2rem;' +
    'margin:1.5rem 0;padding:1.25rem 0;border:solid var(--line);border-width:1px 0}',
  '.figures dt{color:var(--soft);font-size:.9375rem}',
  '.figures dd{font-size:2rem;font-weight:650;line-height:1.2;font-variant-numeric:tabular-nums}',
  '.figures dd+dd{font-size:.9375rem;font-weight:400;color:var(--soft);line-height:1.4}',
  'section{break-inside:avoid;margin-top:2rem}',
  '.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:0 2.5rem}',
  '.chart{display:grid;grid-template-columns:auto 1fr;gap:.25rem .625rem}',
  '.chart svg{width:100%;height:12rem;display:block;overflow:visible}',
  '.chart.low svg{height:8rem}',
  '.ys,.xs{display:flex;justify-content:space-between;color:var(--soft);font-size:.8125rem;line-height:1}',
  '.ys{flex-direction:column;text-align:right;font-variant-numeric:tabular-nums;margin:-.4em 0}',
  '.xs{grid-column:2}',
  '.lines{fill:none;stroke:var(--line);stroke-width:1;vector-effect:non-scaling-stroke}',
  '.bar{fill:var(--accent)}.hit{fill:transparent}g:hover .bar{fill:var(--ink)}',
  '.hatch{fill:none;stroke:var(--accent);stroke-width:1.5;vector-effect:non-scaling-stroke}g:hover .hatch{stroke:var(--ink)}',
  '.note{margin-top:.5rem;font-size:.8125rem}',
  '.bars{list-style:none;padding:0;display:grid;gap:.625rem}',
  '.bars li{display:grid;grid-template-columns:1fr auto 3.25rem;gap:0 .5rem;align-items:baseline}',
  '.bars svg{grid-column:1/-1;width:100%;height:.375rem;display:block;border-radius:99px;background:var(--line)}',
  '.number{font-variant-numeric:tabular-nums;text-align:right}',
  'details{margin-top:.75rem}',
  'summary{cursor:pointer;color:var(--accent);font-size:.9375rem}',
  'table{border-collapse:collapse;margin-top:.5rem;font-size:.9375rem}',
  'th,td{text-align:left;padding:.25rem 1.5rem .25rem 0;border-bottom:1px solid var(--line);font-weight:400}',
  'thead th{color:var(--soft)}',
  'footer{margin-top:2.5rem;padding-top:1rem;border-top:1px solid var(--line);color:var(--soft);font-size:.875rem}',
  'footer p+p{margin-top:.25rem}',
  '.notice{max-width:30rem;min-height:80vh;display:grid;align-content:center;gap:.75rem}',
  'button{font:inherit;font-weight:600;padding:.625rem 1.25rem;border:0;border-radius:.5rem;' +
    'background:var(--accent);color:var(--back);cursor:pointer;justify-self:start}',
  '@media print{@page{margin:14mm}:root{--back:#fff;color-scheme:light}body{font-size:10.5pt;border-top:0}' +
    'main{max-width:none;padding:0}nav,details{display:none}' +
    '.grid{grid-template-columns:1fr 1fr}.figures{grid-template-columns:repeat(3,1fr)}' +
    '.bar,.bars svg,.lines{-webkit-print-color-adjust:exact;print-color-adjust:exact}' +
    'svg *{-webkit-print-color-adjust:exact;print-color-adjust:exact}}',
].join('\n');
