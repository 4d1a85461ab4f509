/** What the running service answers: sign-in, pages, codes, images, scans, events. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import { Webhook } from 'standardwebhooks';
import { request } from 'undici';
import { readAny, readPng, scanBoth } from '../product/images/read-image.ts';
import { word } from '../support/client.ts';
import { readMetrics } from '../support/running-service.ts';
import { type Check, short, whole } from './checks.ts';
import { bytesOf, payPage, target, until, type Walk } from './walk.ts';

const logo = `data:image/svg+xml;base64,${Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="90"><circle cx="45" cy="45" r="40" fill="#a00"/></svg>',
).toString('base64')}`;
const design = {
  gradient: { type: 'linear', from: '#102030', to: '#203070' },
  dotStyle: 'rounded',
  errorCorrection: 'H',
  logo,
};
const formats = ['png', 'svg', 'pdf', 'eps', 'webp'] as const;

/** Envelopes of a kind at the receiver, each from a request whose signature is right. */
function verified({ receiver, secret }: Walk, kind: string): unknown[] {
  const verifier = new Webhook(secret);
  return receiver.requests
    .filter(({ headers }) => headers['x-service-event'] === kind)
    .map(({ headers, body }) => {
      const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
      const signed = Object.fromEntries(names.map((name) => [name, String(headers[name])]));
      return verifier.verify(body.toString(), signed);
    });
}

/** A scan from there: country and city of the newest one in the list. */
async function placeOfScan(walk: Walk, address: string): Promise<string> {
  const path = `/v1/qr-codes/${word(walk.code.id)}/scans?limit=100`;
  const before = (await walk.api.get(path)).items.length;
  assert.deepEqual(await walk.scan(address), [302, target]);
  let found = '';
  await until('the scan is in the list', async () => {
    const { items } = await walk.api.get(path);
    const [newest] = items;
    if (items.length === before || newest === undefined) return false;
    found = `${word(newest.country)} ${word(newest.city)}`;
    return true;
  });
  return found;
}

/** From the first start in an empty folder. */
export const running: ReadonlyArray<Check<Walk>> = [
  short('a first start serves from ./data, and shows password and key', async (walk) => {
    await walk.start([]);
    walk.apiKey = walk.service.apiKey;
    assert.ok(existsSync(join(walk.place.folder, 'data/management.mdb')));
    assert.match(walk.service.stdout, /Sign in +\S+@\S+\n +Password +\S+\n/);
    assert.equal((await walk.api.get('/health/ready')).status, 200);
    if (walk.kind === 'file') assert.doesNotMatch(walk.service.stdout, /\bnpm\b|\bnpx\b/);
  }),
  whole('the password that was shown opens a session', async (walk) => {
    const [, email] = /Sign in +(\S+)/.exec(walk.service.stdout) ?? [];
    const [, password] = /Password +(\S+)/.exec(walk.service.stdout) ?? [];
    await walk.post('/auth/sign-in', { email, password });
  }),
  whole(
    'the dashboard comes with all that it loads, compressed',
    async ({ service: { apiUrl } }) => {
      const page = (await bytesOf(`${apiUrl}/`)).toString();
      const assets = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(
        ([, path]) => path,
      );
      assert.ok(assets.length >= 3, page);
      for (const path of assets) {
        const { headers, body } = await request(`${apiUrl}${path}`, {
          headers: { 'accept-encoding': 'br' },
        });
        assert.match(word(headers['content-type']), /^text\/(javascript|css)/);
        assert.equal(headers['content-encoding'], 'br');
        assert.ok((await body.arrayBuffer()).byteLength > 0);
      }
    },
  ),
  whole('reference, guides and OpenAPI are there', async ({ service: { apiUrl } }) => {
    const docs = (await bytesOf(`${apiUrl}/docs`)).toString();
    const guides = new Set([...docs.matchAll(/href="\/docs\/([\w-]+)"/g)].map(([, name]) => name));
    assert.ok(guides.has('deploy') && guides.has('security'), [...guides].join(', '));
    for (const guide of guides) {
      const page = (await bytesOf(`${apiUrl}/docs/${guide}`)).toString();
      assert.ok(page.includes('<h2'), guide);
    }
    assert.ok(docs.includes('/qr-codes'));
    const { openapi } = JSON.parse((await bytesOf(`${apiUrl}/v1/openapi.json`)).toString());
    assert.match(openapi, /^3\.1/);
  }),
];

export const codes: ReadonlyArray<Check<Walk>> = [
  short('a code with gradient, dots and SVG logo leads to its target', async (walk) => {
    walk.code = await walk.post('/qr-codes', { target, name: 'menu', design });
    assert.deepEqual(await walk.scan('192.0.2.1'), [302, target]);
  }),
  short(
    'the scan is counted',
    async (walk) => await until('counted', async () => (await walk.scansCounted()) === 1),
  ),
  whole('a scan behind a trusted proxy has the place of its IPv4 address', async (walk) => {
    assert.match(await placeOfScan(walk, '8.8.8.8'), /^US Mountain View/);
    assert.match(await placeOfScan(walk, '133.11.0.1'), /^JP .*Chiyoda/);
  }),
  whole('a scan has the place of its IPv6 address', async (walk) =>
    assert.match(await placeOfScan(walk, '2003::1'), /^DE .*Bonn/),
  ),
  short('the picture of a code with a logo reads back as its link', async (walk) => {
    const bytes = await bytesOf(`${walk.service.apiUrl}/i/${word(walk.code.id)}.png?size=600`);
    const printed = word(walk.code.shortUrl).toUpperCase();
    assert.deepEqual(await scanBoth(readPng(bytes)), [printed, printed]);
  }),
  whole('PNG, SVG, PDF, EPS and WebP of a plain code read back as its link', async (walk) => {
    const plain = await walk.post('/qr-codes', { target });
    for (const format of formats) {
      const bytes = await bytesOf(`${walk.service.apiUrl}/i/${word(plain.id)}.${format}?size=400`);
      const [, read] = await scanBoth(await readAny(bytes, format));
      assert.equal(read, word(plain.shortUrl).toUpperCase(), format);
    }
  }),
  whole('a design that no reader makes out is refused', async (walk) => {
    const pale = { foreground: '#eeeeee', background: '#ffffff' };
    const unreadable = { logo, logoScale: 0.25, errorCorrection: 'L', margin: 2 };
    for (const refused of [pale, unreadable]) {
      const body = { target, design: refused };
      const { status, json } = await walk.api.call('POST', '/v1/qr-codes', { body });
      assert.deepEqual([status, json.code], [422, 'unscannable']);
    }
  }),
  whole('a ZIP has the images of the codes that were asked for', async (walk) => {
    const { items } = await walk.api.get('/v1/qr-codes');
    const ids = items.map(({ id }) => id);
    const bytes = await bytesOf(`${walk.service.apiUrl}/v1/qr-codes/images`, {
      method: 'POST',
      headers: { authorization: `Bearer ${walk.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ids }),
    });
    const files = Object.values(unzipSync(bytes));
    assert.equal(files.length, ids.length);
    for (const file of files) assert.ok(readPng(Buffer.from(file)).width > 0);
  }),
  short('events of changes and scans arrive, with right signatures', async (walk) => {
    const hook = { url: walk.receiver.url('/hook'), events: ['*'] };
    walk.secret = word((await walk.post('/webhooks', hook)).secret);
    await walk.post('/qr-codes', { target });
    await walk.scan('192.0.2.2');
    for (const kind of ['qr.created', 'qr.scanned']) {
      await until(`${kind} arrives`, () => verified(walk, kind).length > 0);
    }
  }),
  whole('an invitation is mailed', async (walk) => {
    await walk.post('/team/invites', { email: 'jane@example.com', role: 'editor' });
    assert.deepEqual((await walk.mail.next()).to, ['jane@example.com']);
  }),
  whole('a checkout is opened at the payment provider', async (walk) => {
    const made = await walk.post('/billing/checkout', { plan: 'pro', interval: 'month' });
    assert.equal(made.url, payPage);
    assert.match(walk.payments.requests[0]?.body.toString() ?? '', /price_1/);
  }),
  whole('metrics have the latency of redirects', async ({ service: { apiUrl } }) => {
    const text = await readMetrics(apiUrl);
    assert.match(text, /^quietzone_redirect\w*\{?.* \d/m);
  }),
];
