/**
 * /docs/webhooks: for whoever writes the other end. What arrives, how to know that it is ours, what to answer,
 * and what happens when the answer does not come. The worked example is signed when the page is made, by the
 * code that signs deliveries.
 */
import type { Reply } from '../../http/request.ts';
import { type EventKind, eventKinds } from '../../model/event.ts';
import { sampleEvent } from '../../webhooks/sample-events.ts';
import { signHeaders } from '../../webhooks/attempt/signature.ts';
import { escapeHtml, logo, pageReply } from './page.ts';
import { snippets } from './receiver-snippets.ts';

export const receiversPagePath = '/docs/webhooks';

/** Bytes 0 to 31: a secret that nobody has. */
const exampleSecret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
const exampleTimeMs = Date.UTC(2026, 2, 1, 12);
const exampleEventId = 'evt_01k3zq8m4hd2v7c5x9ab';
const exampleDeliveryId = 'dlv_01k3zq8m4hd2v7c5x9ab';

/** @param retryDelaysMs from the end of a failed attempt to the next one */
export function receiversPage(retryDelaysMs: readonly number[]): Reply {
  const body = `<div class="shell">
<nav aria-label="Contents">${navigation}</nav>
<main>
<h1>Receiving webhooks</h1>
<p class="soft">An endpoint is an address of yours that gets the events it subscribes to, one signed POST each.
Make one with <a href="/docs#createWebhook"><code>POST /v1/webhooks</code></a>; its answer shows the secret, once.</p>
${arrival()}
${verification()}
${answering}
${retries(retryDelaysMs)}
${doubles}
${lists}
${trying}
${kinds()}
</main>
</div>`;
  return pageReply('Receiving webhooks · Quietzone', body);
}

const navigation = `<a class="brand" href="/">${logo}Quietzone</a>
<h4>Webhooks</h4><ul>
<li><a href="#arrives">What arrives</a></li>
<li><a href="#verify">Verify it</a></li>
<li><a href="#answer">Answer it</a></li>
<li><a href="#retries">Retries</a></li>
<li><a href="#twice">Events that come twice</a></li>
<li><a href="#lists">Lists of scans</a></li>
<li><a href="#try">Try it, watch it</a></li>
<li><a href="#events">All events</a></li>
</ul>
<h4>Reference</h4><ul>
<li><a href="/docs#webhooks">Operations</a></li>
<li><a href="/docs">API reference</a></li>
</ul>`;

function arrival(): string {
  const body = JSON.stringify(sampleEvent('qr.scanned', exampleEventId, exampleTimeMs));
  const signed = signHeaders({
    body: Buffer.from(body),
    id: exampleEventId,
    timestampSeconds: exampleTimeMs / 1_000,
    secrets: [exampleSecret],
  });
  const headers = {
    'Content-Type': 'application/json',
    'X-Service-Event': 'qr.scanned',
    'X-Service-Delivery': exampleDeliveryId,
    'X-Service-Attempt': '1',
    ...signed,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const request = ['POST /hooks/qr HTTP/1.1', 'Host: example.com', ...lines, '', body].join('\n');
  return `<section><h2 id="arrives">What arrives</h2>
<pre><code>${escapeHtml(request)}</code></pre>
<div class="wide"><table><tbody>
<tr><td><code>X-Service-Signature</code></td><td>The time of sending and one <code>v1</code> for each secret that is valid now</td></tr>
<tr><td><code>webhook-…</code></td><td>The same proof as <a href="https://www.standardwebhooks.com">Standard Webhooks</a> has it, in three headers</td></tr>
<tr><td><code>X-Service-Event</code></td><td>The kind of event</td></tr>
<tr><td><code>X-Service-Delivery</code></td><td>The delivery, for <a href="/docs#getDelivery">looking it up</a>; the same on every attempt</td></tr>
<tr><td><code>X-Service-Attempt</code></td><td>1, 2, 3…</td></tr>
</tbody></table></div>
<p>The body is <code>{id, event, createdAt, data}</code>; <code>createdAt</code> is there for QR code events only. Its
bytes are the same on every attempt and every replay.</p>
<p class="soft">The request above is signed with <code>${exampleSecret}</code>: a test of your code can start from it.
Twenty more are in <code>test/fixtures/signature-vectors.json</code> of the source.</p></section>`;
}

function verification(): string {
  const blocks = snippets.map(
    ({ language, code }, index) =>
      `<details${index === 0 ? ' open' : ''}><summary>${escapeHtml(language)}</summary><pre><code>${escapeHtml(code)}</code></pre></details>`,
  );
  return `<section><h2 id="verify">Verify it</h2>
<p>Anybody can POST to your address. Before you trust a body:</p>
<ol>
<li>Take the body as it arrived. Parsed and printed again it has other bytes.</li>
<li>Read <code>t</code> and every <code>v1</code> of <code>X-Service-Signature</code>.</li>
<li>Refuse a <code>t</code> more than five minutes from now: somebody may be sending an old delivery again.</li>
<li>Compute HMAC-SHA256 of <code>t</code>, a full stop and the body; the key is the whole secret as text,
<code>whsec_</code> included. Compare its lower-case hex with each <code>v1</code> in constant time. One that is equal is
enough: while you rotate a secret there are two.</li>
</ol>
${blocks.join('\n')}
<p>Libraries do it too: Stripe’s verify <code>X-Service-Signature</code>, those of Standard Webhooks verify the other three
headers. There the key is the part after <code>whsec_</code>, base64-decoded, and what is signed is
<code>webhook-id</code>, <code>webhook-timestamp</code> and the body, joined by full stops.</p></section>`;
}

const answering = `<section><h2 id="answer">Answer it</h2>
<p>Any 2xx means that you have it. Anything else, and an answer that is not complete within 15 seconds, is a failure.
Put the event aside, answer, work afterwards.</p>
<div class="wide"><table><tbody>
<tr><td><code>2xx</code></td><td>Delivered</td></tr>
<tr><td><code>410</code></td><td>Disables the endpoint; what waits can be replayed once you enable it again</td></tr>
<tr><td><code>429</code>, <code>503</code></td><td>With <code>Retry-After</code>: we wait that long, at most twice the delay that is due</td></tr>
<tr><td><code>3xx</code></td><td>Fails: redirects are not followed</td></tr>
</tbody></table></div>
<p>Up to 16 requests to an endpoint are on their way at the same time, and one at a time after five failures in a row.
They may arrive in another order than things happened. Of your answer the first 4 KB are kept for you to look at.</p></section>`;

function retries(delaysMs: readonly number[]): string {
  const delays = delaysMs.map((delayMs) => durationText(delayMs));
  return `<section><h2 id="retries">Retries</h2>
<p>After a failure the same bytes are sent again, with a new time and signature: after ${delays.join(', ')}, each
counted from the end of the attempt before. When attempt ${delaysMs.length + 1} has failed as well, the delivery is in the
<a href="/docs#listDeadLetters">dead letters</a> for 7 days, to be replayed one by one or by a range of time. An endpoint
with nothing but failures for five days is disabled.</p></section>`;
}

const doubles = `<section><h2 id="twice">Events that come twice</h2>
<p>Every event is delivered at least once. When your answer gets lost, it comes again. Its <code>id</code>
(<code>evt_…</code>) is the same on every attempt, replay and redelivery: keep the ids you have dealt with for some days and
pass over those you know.</p></section>`;

const lists = `<section><h2 id="lists">Lists of scans</h2>
<p>A scan is sent within 200 ms of its redirect. When a code has more than ten scans within a moment, they come as a JSON
array of events, each with its own <code>id</code>: at most <code>maxBatch</code> of them (100 unless you say otherwise) or
64 KB a request. Read both forms, or set <code>maxBatch</code> to 1.</p></section>`;

const trying = `<section><h2 id="try">Try it, watch it</h2>
<p><a href="/docs#testWebhook"><code>POST /v1/webhooks/{id}/test</code></a> sends a signed sample of any kind at once and says
what came back. <a href="/docs#listDeliveries">Deliveries</a> shows every attempt with its time, duration, address, status
and answer. <a href="/docs#rotateWebhookSecret">Rotating</a> a secret keeps the old one valid for a day unless you say
otherwise.</p>
<p>Endpoints in private networks are refused unless the operator allows them (<code>webhooks.allowNetworks</code>).</p></section>`;

function kinds(): string {
  const blocks = eventKinds.map((kind) => {
    const json = JSON.stringify(sampleEvent(kind, exampleEventId, exampleTimeMs), undefined, 2);
    return `<details><summary><code>${kind}</code> ${escapeHtml(causes[kind])}</summary><pre><code>${escapeHtml(json)}</code></pre></details>`;
  });
  return `<section><h2 id="events">All events</h2>\n${blocks.join('\n')}</section>`;
}

const causes: Readonly<Record<EventKind, string>> = {
  'qr.created': 'a code was made',
  'qr.updated': 'its destination, details or design changed',
  'qr.deleted': 'a code was deleted for good',
  'qr.scanned': 'somebody scanned a dynamic code',
  'campaign.created': 'a campaign was made',
  'campaign.ended': 'its end date has passed, with its results',
  'subscription.created': 'a paid plan began',
  'subscription.updated': 'its plan or interval changed',
  'subscription.canceled': 'it ends with the period',
  'member.invited': 'somebody was invited',
  'member.joined': 'somebody accepted an invite',
};

const units = [
  { name: 'h', ms: 3_600_000 },
  { name: 'min', ms: 60_000 },
  { name: 's', ms: 1_000 },
  { name: 'ms', ms: 1 },
];

/** The largest unit that goes into it without a rest. */
function durationText(durationMs: number): string {
  const unit = units.find(({ ms }) => durationMs % ms === 0) ?? { name: 'ms', ms: 1 };
  return `${durationMs / unit.ms} ${unit.name}`;
}
