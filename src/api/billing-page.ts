/**
 * /billing/checkout/{id}: what is being bought, for how much, and how it goes on. For whoever has the
 * address; it says nothing of the workspace. With the manual provider an owner signs in here and confirms: the
 * script looks for the checkout in each workspace of whoever signed in, and signs out again.
 */
import type { Billing } from '../billing/billing.ts';
import type { Reply, Request } from '../http/request.ts';
import type { CheckoutRecord, CheckoutState } from '../model/billing.ts';
import { isoTime } from '../model/day.ts';
import { escapeHtml, logo, pageReply } from './page.ts';

export const checkoutPagePrefix = '/billing/checkout/';

/** Addresses of checkouts are nobody's to list or to keep. */
const privateHeaders = { 'Cache-Control': 'no-store', 'X-Robots-Tag': 'noindex' };

/** @param publicUrl the API's public address, without /v1 */
export function checkoutPage(billing: Billing, request: Request, publicUrl: string): Reply {
  const checkout = billing.findCheckout(request.path.slice(checkoutPagePrefix.length));
  const reply =
    checkout === undefined
      ? pageReply('No such checkout', sheet('Checkout', unknownText))
      : pageReply(
          `Checkout: ${planName(checkout)}`,
          sheet('Checkout', body(checkout, publicUrl)),
          isConfirmable(checkout) ? confirmScript : undefined,
        );
  const status = checkout === undefined ? 404 : 200;
  return { ...reply, status, headers: { ...reply.headers, ...privateHeaders } };
}

const isConfirmable = ({ state, provider }: CheckoutRecord): boolean =>
  state === 'open' && provider === 'manual';

const confirmScript = `
const form = document.querySelector('form');
const say = document.querySelector('[role=status]');
const id = location.pathname.split('/').at(-1);
let csrf = '';
async function call(method, path, body) {
  const headers = { 'X-CSRF-Token': csrf, ...(body ? { 'Content-Type': 'application/json' } : {}) };
  const response = await fetch('/v1' + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  return { status: response.status, json: await response.json() };
}
async function confirmAnywhere() {
  const { json } = await call('GET', '/workspaces?limit=100');
  for (const workspace of json.data) {
    await call('POST', '/workspaces/' + workspace.id + '/switch');
    const answer = await call('POST', '/billing/checkout/' + id + '/confirm');
    if (answer.status !== 404) return answer;
  }
  return { status: 404, json: { detail: 'None of your workspaces has this checkout.' } };
}
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const button = form.querySelector('button');
  button.disabled = true;
  say.textContent = 'One moment…';
  try {
    const signedIn = await call('POST', '/auth/sign-in', Object.fromEntries(new FormData(form)));
    if (signedIn.status !== 200) throw new Error(signedIn.json.detail);
    csrf = signedIn.json.csrfToken;
    const { status, json } = await confirmAnywhere();
    await call('POST', '/auth/sign-out');
    if (status !== 200) throw new Error(json.detail);
    location.reload();
  } catch (error) {
    say.textContent = error.message;
    button.disabled = false;
  }
});
`;

const sheet = (title: string, markup: string): string => `<div class="front">
<a class="brand" href="/">${logo}Quietzone</a>
<h1>${title}</h1>
${markup}
</div>`;

const unknownText = `<p class="lead">There is no checkout at this address.</p>
<p>It may be older than a month, or the address was copied incompletely. Start a new one from your
workspace.</p>`;

const states: Readonly<Record<CheckoutState, string>> = {
  open: 'Waiting',
  complete: 'Complete',
  expired: 'Expired',
  replaced: 'Replaced',
};

function body(checkout: CheckoutRecord, publicUrl: string): string {
  return `<div class="bill">
<p class="caption">${states[checkout.state]}</p>
<p class="price"><b>${planName(checkout)}</b> <span>${priceText(checkout)} a ${checkout.interval}</span></p>
</div>
${nextStep(checkout, publicUrl)}
<p class="soft">Your codes keep working whatever happens here: redirects never depend on billing.</p>`;
}

function nextStep(checkout: CheckoutRecord, publicUrl: string): string {
  const until = isoTime(checkout.expiresAtMs).slice(0, 16).replace('T', ' ');
  switch (checkout.state) {
    case 'complete':
      return '<p class="lead">Thank you. The plan has started, its limits hold already.</p>';
    case 'expired':
      return `<p class="lead">It expired at ${until} UTC. Nothing was charged.</p>`;
    case 'replaced':
      return '<p class="lead">A later checkout has taken its place. Nothing was charged here.</p>';
    case 'open':
      break;
  }
  if (checkout.provider === 'stripe') return pay(checkout, until);
  return confirm(checkout, publicUrl, until);
}

function pay(checkout: CheckoutRecord, until: string): string {
  return `<p class="lead">Open until ${until} UTC.</p>
<ul class="links"><li><a href="${escapeHtml(checkout.url)}"><b>Go on to payment</b>
<span>By Stripe, on their page</span></a></li></ul>
<p class="soft">Paid just now? It takes a few seconds until we hear of it: reload this page.</p>`;
}

function confirm(checkout: CheckoutRecord, publicUrl: string, until: string): string {
  const address = `${publicUrl}/v1/billing/checkout/${checkout.id}/confirm`;
  return `<p class="lead">Open until ${until} UTC. It takes effect when an owner confirms it.</p>
<form class="form">
<label>E-mail <input name="email" type="email" autocomplete="username" required maxlength="254"></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button>Confirm as an owner</button>
</form>
<p role="status" aria-live="polite"></p>
<p>Or with an owner's key:</p>
<pre><code>${escapeHtml(`curl -X POST -H "Authorization: Bearer $API_KEY" \\\n  ${address}`)}</code></pre>
<p>Or the operator, on the machine:</p>
<pre><code>quietzone billing confirm ${checkout.id}</code></pre>`;
}

function planName({ plan }: CheckoutRecord): string {
  return `${plan.charAt(0).toUpperCase()}${plan.slice(1)}`;
}

function priceText({ price }: CheckoutRecord): string {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency: price.currency });
  return escapeHtml(format.format(price.amount));
}
