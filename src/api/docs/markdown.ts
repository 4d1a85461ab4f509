/**
 * Renders the Markdown of the guides and of descriptions by `marked`: HTML in it is text, and so are bare addresses. A
 * fence marked `fold TITLE` is folded under its title, a fence marked `open TITLE` can be folded.
 */
import { Marked, type Token, type Tokens } from 'marked';
import { escapeHtml } from '../../model/text.ts';

interface Section {
  readonly id: string;
  readonly text: string;
  /** The text under the heading, in Markdown. */
  content: string;
}

export interface Document {
  readonly title: string;
  /** Second-level headings, the contents of the page. */
  readonly headings: readonly Section[];
  readonly html: string;
  /** The title and the headings, with their texts. */
  readonly sections: readonly Section[];
}

const marked = new Marked({
  tokenizer: { url: () => undefined },
  renderer: {
    html: ({ text }) => escapeHtml(text),
    heading: ({ depth, text }) => `<h${depth} id="${anchor(text)}">${inline(text)}</h${depth}>\n`,
    code: ({ text, lang = '' }) => {
      const pre = `<pre><code>${escapeHtml(text)}</code></pre>\n`;
      const [, how, title = ''] = /^(fold|open) (.+)/.exec(lang) ?? [];
      if (how === undefined) return pre;
      return `<details${how === 'open' ? ' open' : ''}><summary>${inline(title)}</summary>${pre}</details>\n`;
    },
    table: ({ header, rows }) => {
      const head = header.map(({ text }) => `<th>${inline(text)}</th>`).join('');
      // On a phone a row is a block, and each cell shows its column's name.
      const cell = ({ text }: Tokens.TableCell, at: number): string =>
        `<td data-name="${escapeHtml(header[at]?.text ?? '')}">${inline(text)}</td>`;
      const body = rows.map((row) => `<tr>${row.map(cell).join('')}</tr>`).join('\n');
      return `<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>\n`;
    },
  },
});

export function renderMarkdown(source: string): Document {
  const tokens = marked.lexer(source);
  const sections: Section[] = [];
  for (const token of tokens) {
    if (isHeading(token) && token.depth <= 2) {
      sections.push({ id: anchor(token.text), text: token.text, content: '' });
    } else {
      const last = sections.at(-1);
      if (last !== undefined) last.content += token.raw;
    }
  }
  const [first, ...headings] = sections;
  return { title: first?.text ?? '', headings, html: marked.parser(tokens), sections };
}

const isHeading = (token: Token): token is Tokens.Heading => token.type === 'heading';

/** Code, bold text and links of a line. */
export function inline(text: string): string {
  return marked.parseInline(text, { async: false });
}

export function anchor(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, '-');
}
