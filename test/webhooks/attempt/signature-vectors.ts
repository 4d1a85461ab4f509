/**
 * Test vectors for receivers, created by an implementation of its own: WebCrypto's HMAC over the bytes as
 * the contract words them, sharing nothing with src/webhooks/attempt/signature.ts. What it makes is kept in
 * test/fixtures/signature-vectors.json; after a wanted change, `vitest run -u` writes that file anew.
 */
import { webcrypto } from 'node:crypto';

interface Input {
  readonly name: string;
  /** Valid at that time, newest first. */
  readonly secrets: readonly string[];
  readonly id: string;
  readonly timestamp: number;
  readonly body: string;
}

export interface SignatureVector extends Input {
  readonly headers: Readonly<Record<string, string>>;
}

const about = [
  'Signatures of webhook deliveries, for tests of receivers in any language.',
  'Each vector: the secrets valid at the time (newest first), the webhook-id, the unix time in seconds, the body (its UTF-8 bytes, exactly), and the headers sent with it.',
  'X-Service-Signature: t=<timestamp>,v1=<hex>, one v1 for each secret; HMAC-SHA256 with the whole secret text as key over <timestamp>.<body>.',
  'webhook-signature: v1,<base64>, separated by spaces, one for each secret; HMAC-SHA256 with the base64-decoded part of the secret after whsec_ as key over <webhook-id>.<timestamp>.<body>.',
  'A receiver knows one secret: it accepts when any of the signatures matches. Compare in constant time, and set the tolerance of the time aside: these times are fixed.',
];

/** 32 bytes that differ by `seed`. */
const secretOf = (seed: number): string =>
  `whsec_${Buffer.from(Uint8Array.from({ length: 32 }, (_, index) => (seed * 37 + index * 11) % 256)).toString('base64')}`;
const [first, second, third] = [secretOf(1), secretOf(2), secretOf(3)];
const id = (last: string): string => `evt_01jd5zq8m3tr7w9k2c6${last}`;
const event = (name: string, data: unknown, last: string): string =>
  JSON.stringify({ id: id(last), event: name, createdAt: '2026-01-02T03:04:05.678Z', data });
const scan = (last: string) => ({
  id: id(last),
  event: 'qr.scanned',
  createdAt: '2026-01-02T03:04:05.678Z',
  data: {
    qrId: 'qr_01jd5zq8m3tr7w9k2c6v',
    scannedAt: '2026-01-02T03:04:05.600Z',
    country: 'DE',
    city: 'Köln',
    device: 'mobile',
    os: 'iOS',
    referer: null,
  },
});
const batch = JSON.stringify('0123456789abcdef'.split('').map(scan));
const named = (name: string) => event('qr.created', { target: name }, 'a');
const vector = (
  name: string,
  body: string,
  more: Partial<Omit<Input, 'name' | 'body'>> = {},
): Input => ({
  name,
  secrets: [first],
  id: id('v'),
  timestamp: 1_767_323_045,
  body,
  ...more,
});

const inputs: readonly Input[] = [
  vector('the smallest body', '{}'),
  vector('an event', event('qr.deleted', { id: 'qr_1', deletedBy: 'usr_1' }, 'b')),
  vector('an event without createdAt', '{"id":"evt_1","event":"member.joined","data":{}}'),
  vector('a scan', JSON.stringify(scan('c'))),
  vector('a batch of 16 scans', batch, { id: id('0') }),
  vector('another secret', '{}', { secrets: [second] }),
  vector('another id', '{}', { id: id('w') }),
  vector('another time', '{}', { timestamp: 1_767_323_046 }),
  vector('the beginning of unix time', '{}', { timestamp: 0 }),
  vector('a time beyond 32 bits', '{}', { timestamp: 4_294_967_296 }),
  vector('a rotation: two secrets', '{"a":1}', { secrets: [second, first] }),
  vector('a rotation: three secrets', '{"a":1}', { secrets: [third, second, first] }),
  vector('characters of two, three and four bytes', named('ä € 🏁')),
  vector('escaped characters', named('"\\\u0000\u001f\n\u2028')),
  vector('combining characters, not normalised', named('e\u0301 \u00e9')),
  vector('white space that JSON does not need', ' { "a" : [ 1 , 2 ] }\r\n'),
  vector('a number that must not be rewritten', '{"amount":1.10,"large":12345678901234567890}'),
  vector('periods and commas, as the signed text uses them', named('1767323045.v1=0,v1,.')),
  vector('a short secret of 24 bytes', '{}', {
    secrets: [`whsec_${Buffer.alloc(24, 9).toString('base64')}`],
  }),
  vector('a long body', named('x'.repeat(2_000))),
];

async function hmac(key: Uint8Array, text: string): Promise<Buffer> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const created = await webcrypto.subtle.importKey('raw', key.slice(), algorithm, false, ['sign']);
  return Buffer.from(await webcrypto.subtle.sign('HMAC', created, new TextEncoder().encode(text)));
}

async function complete(input: Input): Promise<SignatureVector> {
  const { secrets, timestamp, body } = input;
  const hex: string[] = [];
  const base64: string[] = [];
  for (const secret of secrets) {
    const stripe = await hmac(new TextEncoder().encode(secret), `${timestamp}.${body}`);
    const decoded = Buffer.from(secret.replace('whsec_', ''), 'base64');
    const standard = await hmac(decoded, `${input.id}.${timestamp}.${body}`);
    hex.push(`v1=${stripe.toString('hex')}`);
    base64.push(`v1,${standard.toString('base64')}`);
  }
  return {
    ...input,
    headers: {
      'X-Service-Signature': [`t=${timestamp}`, ...hex].join(','),
      'webhook-id': input.id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': base64.join(' '),
    },
  };
}

/** The whole file. */
export async function makeVectorFile(): Promise<string> {
  const vectors = await Promise.all(inputs.map(complete));
  const text = JSON.stringify({ about, vectors }, null, 2);
  // One secret stands on its line, as the formatter has it.
  return `${text.replace(/\[\s+("[^"]*")\s+\]/g, '[$1]')}\n`;
}
