/**
 * Renders Markdown by `marked`. HTML in it is shown as text, except comments, which are dropped. A heading has the id that
 * a code host gives it; a row has the first code span as its id, if its first cell is code only. A fence marked
 * `python fold Python` is folded under its title, one marked `js open Node.js` can be folded.
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

/** Addresses on the page; undefined leaves the text without a link. */
export interface LinkRules {
  hrefOf(href: string): string | undefined;
  /** @param operation text of a code span: `POST /v1/webhooks` */
  hrefOfOperation(operation: string): string | undefined;
}

const asWritten: LinkRules = { hrefOf: (href) => href, hrefOfOperation: () => undefined };

export function renderMarkdown(source: string, rules = asWritten): Document {
  const sections: Section[] = [];
  const ids = new Map<Token, string>();
  const marked = createMarked(rules, ids);
  const tokens = marked.lexer(source);
  for (const token of tokens) {
    if (isHeading(token)) {
      const base = headingId(plainText(token.text));
      const repeats = [...ids.values()].filter((id) => id.replace(/-\d+$/, '') === base).length;
      const id = repeats === 0 ? base : `${base}-${repeats}`;
      ids.set(token, id);
      if (token.depth <= 2) {
        sections.push({ id, text: plainText(token.text), content: '' });
        continue;
      }
    }
    const last = sections.at(-1);
    if (last !== undefined) last.content += token.raw;
  }
  const [first, ...headings] = sections;
  return { title: first?.text ?? '', headings, html: marked.parser(tokens), sections };
}

const isHeading = (token: Token): token is Tokens.Heading => token.type === 'heading';

function createMarked(rules: LinkRules, ids: ReadonlyMap<Token, string>): Marked {
  const linked = (href: string | undefined, html: string): string =>
    href === undefined ? html : `<a href="${escapeHtml(href)}">${html}</a>`;
  return new Marked({
    tokenizer: { url: () => undefined },
    renderer: {
      html: ({ text }) => (text.startsWith('<!--') ? '' : escapeHtml(text)),
      heading(token) {
        const { depth, tokens } = token;
        return `<h${depth} id="${ids.get(token) ?? ''}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        return linked(rules.hrefOf(href), this.parser.parseInline(tokens));
      },
      codespan: ({ text }) =>
        linked(rules.hrefOfOperation(text), `<code>${escapeHtml(text)}</code>`),
      code: ({ text, lang = '' }) => {
        const pre = `<pre><code>${escapeHtml(text)}</code></pre>\n`;
        const [, how, title = ''] = /^\S+ (fold|open) (.+)/.exec(lang) ?? [];
        if (how === undefined) return pre;
        return `<details${how === 'open' ? ' open' : ''}><summary>${escapeHtml(title)}</summary>${pre}</details>\n`;
      },
      table({ header, rows }) {
        const inlineOf = ({ tokens }: Tokens.TableCell): string => this.parser.parseInline(tokens);
        const head = header.map((cell) => `<th>${inlineOf(cell)}</th>`).join('');
        // On a phone a row is a block, and each cell shows its column's name.
        const names = header.map(({ text }) => escapeHtml(plainText(text)));
        const rowOf = (row: readonly Tokens.TableCell[]): string =>
          `<tr${rowId(row[0])}>${row.map((cell, at) => `<td data-name="${names[at]}">${inlineOf(cell)}</td>`).join('')}</tr>`;
        const body = rows.map(rowOf).join('\n');
        return `<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>\n`;
      },
    },
  });
}

function rowId(first: Tokens.TableCell | undefined): string {
  const parts = first?.tokens.filter(({ raw }) => raw.trim() !== '') ?? [];
  const texts = parts.map((token) => (token.type === 'codespan' ? String(token.text) : ''));
  const [id = ''] = texts;
  return /^[\w.*-]+$/.test(id) && !texts.includes('') ? ` id="${id}"` : '';
}

const standard = createMarked(asWritten, new Map());

/** Code, bold text and links of a line. */
export function inline(text: string): string {
  return standard.parseInline(text, { async: false });
}

const plainText = (text: string): string =>
  text.replace(/\[([^\]]+)\]\([^)\s]+\)/g, '$1').replace(/[`*]/g, '');

/** As a code host makes it: lower case, punctuation dropped, spaces as hyphens. */
export function headingId(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-');
}
