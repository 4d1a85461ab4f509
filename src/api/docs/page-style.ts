/**
 * The style sheet of the pages under /docs: one sheet, light and dark, from a phone up.
 * Contrast is at least 4.5:1 for every text, in both.
 */
export const pageStyle = `
:root{--background:#fbfaf7;--card:#fff;--ink:#1c2321;--soft:#55605c;--line:#e3e1d9;--accent:#0f6b5c;--tint:#e8f1ee;--code:#16211f;--codeink:#e6efec;
--get:#1d5fa8;--post:#0f6b5c;--patch:#8a5200;--put:#6a3fa0;--delete:#b3261e}
@media (prefers-color-scheme:dark){:root{--background:#121715;--card:#1a211e;--ink:#e8eeeb;--soft:#a3b0ab;--line:#2c3632;--accent:#63cdb6;--tint:#1d2d28;--code:#0b0f0e;--codeink:#d9e6e1;
--get:#7db8f5;--post:#63cdb6;--patch:#f0b75f;--put:#c3a2f0;--delete:#ff9a92}}
*{box-sizing:border-box}
html{scroll-padding-top:1.5rem;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--background);color:var(--ink);font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif}
a{color:var(--accent);text-underline-offset:.15em}
a:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:3px}
h1,h2,h3{line-height:1.2;letter-spacing:-.015em;margin:0;text-wrap:balance}
h1{font-size:clamp(1.9rem,4.5vw,2.6rem)}
h2{font-size:1.5rem;padding-top:3rem}
h3{font-size:1.15rem}
p{margin:.7rem 0;max-width:44rem}
code,pre{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace;font-size:.86em}
code{background:var(--tint);padding:.1em .35em;border-radius:4px;overflow-wrap:anywhere}
pre{background:var(--code);color:var(--codeink);padding:1rem 1.1rem;border-radius:10px;overflow-x:auto;margin:.9rem 0;line-height:1.55;font-size:.84rem}
pre code{background:none;padding:0;font-size:inherit;overflow-wrap:normal}
.brand{display:flex;align-items:center;gap:.6rem;font-weight:650;color:var(--ink);text-decoration:none;letter-spacing:-.01em}
.brand svg{width:28px;height:28px;flex:none}
.soft{color:var(--soft)}
.guide h1{margin-bottom:1rem}
.guide li{max-width:44rem;margin:.3rem 0}
.guide table{width:auto;min-width:min(100%,44rem)}
.guide td:not(:last-child) code{overflow-wrap:normal}
.shell{display:grid;grid-template-columns:16rem minmax(0,1fr);max-width:80rem;margin:0 auto}
.shell nav{position:sticky;z-index:1;top:0;align-self:start;height:100vh;display:flex;flex-direction:column;padding:2rem 1rem 2rem 1.5rem;border-right:1px solid var(--line)}
.contents{overflow-y:auto;min-height:0;margin:.4rem 0 0}
.shell nav ul{list-style:none;margin:.3rem 0 0;padding:0}
.shell nav li a{display:flex;gap:.5rem;align-items:baseline;padding:.22rem .4rem;border-radius:6px;color:var(--ink);text-decoration:none;font-size:.92rem}
.shell nav li a:hover,.shell nav a[aria-current]{background:var(--tint)}
.shell nav h4{margin:1.4rem 0 0;padding:0 .4rem;font-size:.74rem;text-transform:uppercase;letter-spacing:.07em;color:var(--soft)}
main{padding:2rem clamp(1.25rem,4vw,3.5rem) 5rem;min-width:0}
.verb{font:600 .7rem/1.5 ui-monospace,Menlo,Consolas,monospace;letter-spacing:.03em;text-transform:uppercase;color:var(--verb)}
.shell nav .verb{width:3.1rem;flex:none}
.get{--verb:var(--get)}.post{--verb:var(--post)}.patch{--verb:var(--patch)}.put{--verb:var(--put)}.delete{--verb:var(--delete)}
.operation{border-top:1px solid var(--line);padding:1.8rem 0 .6rem;margin-top:1.6rem}
.operation .address{display:flex;flex-wrap:wrap;gap:.6rem;align-items:center;margin:.5rem 0 0}
.operation .address .verb{border:1px solid currentColor;border-radius:6px;padding:.05rem .5rem}
.operation .address code{background:none;padding:0;font-size:.95rem}
.role{font-size:.8rem;color:var(--soft);border:1px solid var(--line);border-radius:99px;padding:.05rem .65rem}
.caption{font-size:.8rem;font-weight:650;text-transform:uppercase;letter-spacing:.06em;color:var(--soft);margin:1.3rem 0 .2rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.92rem}
td,th{text-align:left;vertical-align:top;padding:.5rem .8rem .5rem 0;border-bottom:1px solid var(--line)}
th{font-size:.8rem;color:var(--soft);font-weight:600}
.must{color:var(--delete);font-size:.78rem;margin-left:.35rem}
.fields{border-top:1px solid var(--line);font-size:.92rem;margin:.4rem 0}
.fields>div{display:grid;grid-template-columns:minmax(0,15rem) minmax(0,1fr);gap:.1rem 1.2rem;padding:.5rem 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
.fields>div:target{background:var(--tint)}
.fields>div>div:first-child a{text-decoration:none}
.fields>div span{color:var(--soft);font-size:.85rem}
.fields>div>div:first-child>span:last-child{display:block}
.fields>div .must{color:var(--delete);font-size:.78rem}
.fields>div .fields{padding-left:.8rem;border-left:2px solid var(--line)}
.fields>div .fields>div{grid-template-columns:minmax(0,1fr)}
.fields>div details,.fields>div p{margin:.3rem 0}
.operation h3 a{color:inherit;text-decoration:none}
.search{position:relative;margin:1.2rem 0 0}
.search input{width:100%;font:inherit;font-size:.92rem;padding:.45rem .7rem;border:1px solid var(--soft);border-radius:8px;background:var(--card);color:var(--ink)}
.search input:focus-visible{outline:2px solid var(--accent);outline-offset:1px}
.search p{margin:0;font-size:.85rem;color:var(--soft)}
#found{position:absolute;z-index:2;left:0;width:min(34rem,calc(100vw - 2.5rem));max-height:70vh;overflow-y:auto;background:var(--card);border:1px solid var(--line);border-radius:10px;box-shadow:0 8px 30px #0004;padding:.3rem;margin-top:.3rem}
#found a{display:grid;padding:.45rem .6rem;border-radius:7px;color:var(--ink);text-decoration:none;overflow-wrap:anywhere;font-size:.92rem;line-height:1.35}
#found a[aria-selected=true]{background:var(--tint)}
#found span,#found small{color:var(--soft);font-size:.82rem}
.sample{position:relative}
.copy{position:absolute;top:.5rem;right:.5rem;font:inherit;font-size:.78rem;padding:.15rem .6rem;border:1px solid #7b8b86;border-radius:6px;background:var(--code);color:var(--codeink);cursor:pointer}
.copy:focus-visible{outline:2px solid var(--codeink);outline-offset:2px}
.contents>summary{display:none}
tr:target{background:var(--tint)}
details{margin:.9rem 0}
summary{cursor:pointer;font-size:.92rem;color:var(--accent)}
@media (max-width:52rem){.fields>div{grid-template-columns:minmax(0,1fr)}.fields .fields{padding-left:.6rem}.shell{display:block}.contents>summary{display:list-item;margin:.6rem 0 0}.shell nav{position:static;height:auto;border-right:0;border-bottom:1px solid var(--line);padding:1.25rem}
.shell nav ul{columns:2}main{padding-top:1rem}}
@media (max-width:40rem){.wide table,.wide tbody,.wide tr,.wide td{display:block}.wide thead{display:none}.guide table{min-width:0}
.wide tr{border-bottom:1px solid var(--line);padding:.5rem 0}.wide td{border:0;padding:.15rem 0}.wide td+td::before{content:attr(data-name) ": ";color:var(--soft)}}
@media (max-width:30rem){.sample:has(.copy) pre{padding-top:2.6rem}.shell nav ul{columns:1}.shell nav.short ul{columns:2}.short li a{font-size:.85rem}}
`.trim();
