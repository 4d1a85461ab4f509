/**
 * The part of Markdown that the guides are written in, as markup: headings, paragraphs, lists, tables, fenced
 * code; inside them code, bold text and links. Everything else is text. A fence marked `fold TITLE` is folded away
 * under its title, one marked `open TITLE` can be.
 */
import { escapeHtml } from './page.ts';

export interface Heading {
  readonly id: string;
  readonly text: string;
}

export interface Document {
  readonly title: string;
  /** Second-level headings, the contents of the page. */
  readonly headings: readonly Heading[];
  readonly html: string;
}

/** A fence with its blank lines, or lines up to a blank one. */
const block = /^```[^]*?^```$|^.+(?:\n.+)*/gm;

export function renderMarkdown(source: string): Document {
  const blocks = source.match(block) ?? [];
  const headings = blocks.flatMap((text) => {
    const title = /^## (.+)/.exec(text)?.[1];
    return title === undefined ? [] : [{ id: anchor(title), text: title }];
  });
  const title = /^# (.+)/.exec(blocks[0] ?? '')?.[1] ?? '';
  return { title, headings, html: blocks.map(renderBlock).join('\n') };
}

function renderBlock(text: string): string {
  const [first = '', ...others] = text.split('\n');
  if (first.startsWith('```')) return fence(first.slice(3), others.slice(0, -1).join('\n'));
  const [, level, title = ''] = /^(#+) (.+)/.exec(first) ?? [];
  if (level !== undefined) {
    return `<h${level.length} id="${anchor(title)}">${inline(title)}</h${level.length}>`;
  }
  if (first.startsWith('| ')) return table([first, ...others]);
  if (first.startsWith('- ')) return `<ul>${items(text, /^- /m)}</ul>`;
  if (first.startsWith('1. ')) return `<ol>${items(text, /^\d+\. /m)}</ol>`;
  return `<p>${inline(text)}</p>`;
}

function fence(mark: string, code: string): string {
  const pre = `<pre><code>${escapeHtml(code)}</code></pre>`;
  const [, how, title = ''] = /^(fold|open) (.+)/.exec(mark) ?? [];
  if (how === undefined) return pre;
  return `<details${how === 'open' ? ' open' : ''}><summary>${inline(title)}</summary>${pre}</details>`;
}

function items(text: string, start: RegExp): string {
  const parts = text.split(start).slice(1);
  return parts.map((part) => `<li>${inline(part.trim())}</li>`).join('\n');
}

/** The second row is the line under the head. */
function table([head = '', , ...rows]: readonly string[]): string {
  const cells = (row: string, tag: string): string => {
    const texts = row.slice(2, -2).split(' | ');
    return `<tr>${texts.map((cell) => `<${tag}>${inline(cell.trim())}</${tag}>`).join('')}</tr>`;
  };
  const body = rows.map((row) => cells(row, 'td')).join('\n');
  return `<div class="wide"><table><thead>${cells(head, 'th')}</thead><tbody>${body}</tbody></table></div>`;
}

const mark = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)/g;

/** Code, bold text and links of a line; the rest is escaped. */
export function inline(text: string): string {
  let html = '';
  let end = 0;
  for (const { 0: all, 1: code, 2: bold, 3: label, 4: href, index } of text.matchAll(mark)) {
    html += escapeHtml(text.slice(end, index));
    end = index + all.length;
    if (code !== undefined) html += `<code>${escapeHtml(code)}</code>`;
    else if (bold !== undefined) html += `<b>${inline(bold)}</b>`;
    else html += `<a href="${escapeHtml(href ?? '')}">${inline(label ?? '')}</a>`;
  }
  return html + escapeHtml(text.slice(end));
}

export function anchor(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, '-');
}
