/**
 * The guides under /docs: Markdown files next to this one, rendered on their first request. `{{name}}` in them is replaced
 * by a value of the installation or the code: public address, retry delays, samples of every event. The example
 * of a delivery is signed by the code that signs deliveries.
 */
import { escapeHtml } from '../../model/text.ts';
import type { Reply } from '../../platform/uws/request.ts';
import { eventKinds } from '../../model/event.ts';
import { shipped } from '../../platform/shipped.ts';
import { signHeaders } from '../../webhooks/attempt/signature.ts';
import { eventCauses, sampleEnvelope } from '../events/event-schemas.ts';
import { type Document, renderMarkdown } from './markdown.ts';
import { navigationFrame, pageReply } from './page.ts';
import type { Guide } from './search-index.ts';

/** File name without its ending, and title, in the order of the navigation. */
const titles = {
  routes: 'Where a code leads',
  images: 'Images and designs',
  analytics: 'Analytics and events',
  reports: 'Shared reports and mails',
  alerts: 'Alerts',
  bulk: 'Bulk creation and imports',
  webhooks: 'Receiving webhooks',
  pages: 'Pages of codes that lead nowhere',
  people: 'People, keys and billing',
  operations: 'Operations',
  cluster: 'Several machines',
  security: 'Security',
};

export interface GuideOptions {
  /** The API's public address, without /v1. */
  readonly publicUrl: string;
  /** From the end of a failed attempt to the next one. */
  readonly retryDelaysMs: readonly number[];
}

/** The guides in the order of the navigation. */
export function readGuides(options: GuideOptions): Guide[] {
  const known = fields(options);
  return Object.keys(titles).map((name) => ({
    path: `/docs/${name}`,
    document: renderMarkdown(readGuide(name, known)),
  }));
}

export function guidePage({ document }: Guide): Reply {
  const body = `<div class="shell">
<nav class="short" aria-label="Contents">${navigation(document)}</nav>
<main class="guide">
${document.html}
</main>
</div>`;
  return pageReply(`${document.title} · Quietzone`, body);
}

/** The text of a guide with its fields filled in. @throws Error for an unknown field */
export function readGuide(name: string, known: Readonly<Record<string, string>>): string {
  const source = shipped.text(`guides/${name}.md`);
  return source.replace(/\{\{(\w+)\}\}/g, (_, field: string) => {
    const value = known[field];
    if (value === undefined) throw new Error(`Cannot fill in {{${field}}} of guides/${name}.md`);
    return value;
  });
}

/** The list of guides for the navigation of every page under /docs. */
export const guideLinks = `<h4>Guides</h4><ul>
${Object.entries(titles)
  .map(([name, title]) => `<li><a href="/docs/${name}">${title}</a></li>`)
  .join('\n')}
</ul>`;

function navigation({ title, headings }: Document): string {
  const contents = headings.map(
    ({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  return navigationFrame(`<h4>${escapeHtml(title)}</h4><ul>${contents.join('\n')}</ul>
${guideLinks}
<h4>Reference</h4><ul><li><a href="/docs">API reference</a></li></ul>`);
}

/** Bytes 0 to 31: not the secret of any endpoint. */
const exampleSecret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
const exampleTimeMs = Date.UTC(2026, 2, 1, 12);
const exampleDeliveryId = 'dlv_01k3zq8m4hd2v7c5x9ab';

function fields({ publicUrl, retryDelaysMs }: GuideOptions): Readonly<Record<string, string>> {
  const events = eventKinds.map((kind) => {
    const json = JSON.stringify(sampleEnvelope(kind), undefined, 2);
    return `~~~fold \`${kind}\` ${eventCauses[kind]}\n${json}\n~~~`;
  });
  return {
    publicUrl,
    command: shipped.command,
    secret: exampleSecret,
    request: exampleRequest(),
    delays: retryDelaysMs.map(durationText).join(', '),
    attempts: String(retryDelaysMs.length + 1),
    events: events.join('\n\n'),
  };
}

function exampleRequest(): string {
  const event = sampleEnvelope('qr.scanned');
  const body = JSON.stringify(event);
  const headers = {
    'Content-Type': 'application/json',
    'X-Service-Event': 'qr.scanned',
    'X-Service-Delivery': exampleDeliveryId,
    'X-Service-Attempt': '1',
    ...signHeaders({
      body: Buffer.from(body),
      id: event.id,
      timestampSeconds: exampleTimeMs / 1_000,
      secrets: [exampleSecret],
    }),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return ['POST /hooks/qr HTTP/1.1', 'Host: example.com', ...lines, '', body].join('\n');
}

const units = [
  { name: 'h', ms: 3_600_000 },
  { name: 'min', ms: 60_000 },
  { name: 's', ms: 1_000 },
];

/** The largest unit that divides it. */
function durationText(durationMs: number): string {
  const unit = units.find(({ ms }) => durationMs % ms === 0) ?? { name: 'ms', ms: 1 };
  return `${durationMs / unit.ms} ${unit.name}`;
}
