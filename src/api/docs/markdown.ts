/**
 * Renders the part of Markdown that the guides use: headings, paragraphs, lists, tables, fenced
 * code; inside them code, bold text and links. Everything else is text. A fence marked `fold TITLE` is folded
 * under its title, a fence marked `open TITLE` can be folded.
 */
import { escapeHtml } from '../../model/text.ts';

export interface Heading {
  readonly id: string;
  readonly text: string;
}

export interface Document {
  readonly title: string;
  /** Second-level headings, the contents of the page. */
  readonly headings: readonly Heading[];
  readonly html: string;
  /** The text under the title and under each heading, in Markdown. */
  readonly sections: ReadonlyArray<Heading & { readonly content: string }>;
}

/** A fence with its blank lines, or lines up to a blank line. */
const block = /^```[^]*?^```$|^.+(?:\n.+)*/gm;

export function renderMarkdown(source: string): Document {
  const blocks = source.match(block) ?? [];
  const headings = blocks.flatMap((text) => {
    const title = /^## (.+)/.exec(text)?.[1];
    return title === undefined ? [] : [{ id: anchor(title), text: title }];
  });
  const title = /^# (.+)/.exec(blocks[0] ?? '')?.[1] ?? '';
  const html = blocks.map(renderBlock).join('\n');
  return { title, headings, html, sections: sectionsOf(source) };
}

function sectionsOf(source: string): Document['sections'] {
  return source.split(/^#{1,2} /m).flatMap((part) => {
    const [text = '', ...lines] = part.split('\n');
    return text === '' ? [] : [{ id: anchor(text), text, content: lines.join('\n') }];
  });
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
  const cellsOf = (row: string): string[] =>
    row
      .slice(2, -2)
      .split(' | ')
      .map((cell) => cell.trim());
  const names = cellsOf(head);
  const headCells = names.map((name) => `<th>${inline(name)}</th>`).join('');
  // On a phone a row is a block, and each cell shows its column's name.
  const line = (row: string): string =>
    cellsOf(row)
      .map((cell, at) => `<td data-name="${escapeHtml(names[at] ?? '')}">${inline(cell)}</td>`)
      .join('');
  const body = rows.map((row) => `<tr>${line(row)}</tr>`).join('\n');
  return `<div class="wide"><table><thead><tr>${headCells}</tr></thead><tbody>${body}</tbody></table></div>`;
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
