/**
 * The guides under /docs: Markdown files next to this one, which are also read on a code host. The page of a guide shows the
 * addresses of this installation and links operations to the reference. `npm run docs` (config/docs.ts) writes the
 * parts of the files that come from the code.
 */
import { escapeHtml } from '../../model/text.ts';
import type { Reply } from '../../platform/uws/request.ts';
import { shipped } from '../../platform/shipped.ts';
import { type Document, type LinkRules, renderMarkdown } from './markdown.ts';
import { navigationFrame, pageReply } from './page.ts';

/** File names without their ending, in the order of the navigation. */
const guideGroups = {
  Start: ['getting-started', 'print-safely'],
  'Run it': ['deploy', 'back-up', 'upgrade', 'monitor', 'troubleshoot', 'settings'],
  'Use it': ['routes', 'images', 'analytics', 'alerts', 'reports', 'pages', 'bulk', 'people'],
  API: ['webhooks', 'verify-webhooks', 'api', 'javascript'],
  More: ['cluster', 'security'],
} as const;

const names: readonly string[] = Object.values(guideGroups).flat();

export interface GuideOptions {
  /** Address of dashboard and API, without /v1. */
  readonly publicUrl: string;
  /** Address of short links. */
  readonly shortUrlBase: string;
  readonly hrefOfOperation: LinkRules['hrefOfOperation'];
}

export interface Guide {
  readonly name: string;
  readonly path: string;
  readonly document: Document;
}

/** The guides in the order of the navigation. */
export function readGuides({ publicUrl, shortUrlBase, hrefOfOperation }: GuideOptions): Guide[] {
  const rules = { hrefOf, hrefOfOperation };
  const here = (_: string, port: string): string => (port === '8080' ? publicUrl : shortUrlBase);
  return names.map((name) => {
    const source = shipped.text(`guides/${name}.md`);
    const text = source.replace(/http:\/\/localhost:(808[01])\b/g, here);
    return { name, path: `/docs/${name}`, document: renderMarkdown(text, rules) };
  });
}

/** Other files of the repository are not on this server. */
function hrefOf(href: string): string | undefined {
  const [, name = '', section = ''] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? [];
  if (names.includes(name)) return `/docs/${name}${section}`;
  return /^(?:#|https?:|mailto:)/.test(href) ? href : undefined;
}

export function guidePage(guide: Guide, guides: readonly Guide[]): Reply {
  const { title, headings, html } = guide.document;
  const contents = headings.map(
    ({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  const navigation = navigationFrame(`<h4>${escapeHtml(title)}</h4><ul>${contents.join('\n')}</ul>
${guideNavigation(guides, guide.name)}
<h4>Reference</h4><ul><li><a href="/docs">API reference</a></li></ul>`);
  const body = `<div class="shell">
<nav class="short" aria-label="Contents">${navigation}</nav>
<main class="guide">
${html}
</main>
</div>`;
  return pageReply(`${title} · Quietzone`, body);
}

/** The guides by group. @param current name of the guide that is shown */
export function guideNavigation(guides: readonly Guide[], current?: string): string {
  const entry = (name: string): string => {
    const title = guides.find((guide) => guide.name === name)?.document.title ?? name;
    const mark = name === current ? ' aria-current="page"' : '';
    return `<li><a href="/docs/${name}"${mark}>${escapeHtml(title)}</a></li>`;
  };
  return Object.entries(guideGroups)
    .map(([group, members]) => `<h4>${group}</h4><ul>${members.map(entry).join('\n')}</ul>`)
    .join('\n');
}
