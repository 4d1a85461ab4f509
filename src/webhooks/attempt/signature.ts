/**
 * Signs a delivery: two signatures over the exact bytes of the body, with which a receiver verifies its origin.
 *
 *   X-Service-Signature   t=<unix seconds>,v1=<hex>[,v1=<hex>…]     the layout of Stripe's signatures
 *                         HMAC-SHA256, key = the whole secret text    over `<t>.<body>`
 *   webhook-id            the event's id                             Standard Webhooks 1.0
 *   webhook-timestamp     <unix seconds>
 *   webhook-signature     v1,<base64>[ v1,<base64>…]
 *                         HMAC-SHA256, key = the base64 after whsec_  over `<id>.<t>.<body>`
 *
 * There is one signature per valid secret, newest first: during a rotation both the old and the new secret verify.
 * The body is never decoded: the signed bytes are sent.
 */
import { createHmac, createSecretKey, type Hmac, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';

const prefix = 'whsec_';
/** Cached secrets, about 1 KB each. */
const keysMax = 4_096;

export interface Signed {
  readonly body: Uint8Array;
  /** `evt_…` */
  readonly id: string;
  readonly timestampSeconds: number;
  /** `whsec_…`, newest first. */
  readonly secrets: readonly string[];
}

interface SignatureHeaders {
  readonly 'X-Service-Signature': string;
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

type Keys = readonly [text: KeyObject, decoded: KeyObject];

const known = new LRUCache<string, Keys>({ max: keysMax });

/** @throws Error if a secret is not `whsec_` and base64: no receiver could verify it */
export function signHeaders({ body, id, timestampSeconds, secrets }: Signed): SignatureHeaders {
  const time = String(timestampSeconds);
  let stripe = `t=${time}`;
  const standard: string[] = [];
  for (const secret of secrets) {
    const [text, decoded] = keysOf(secret);
    stripe += `,v1=${hmac(text, `${time}.`, body).digest('hex')}`;
    standard.push(`v1,${hmac(decoded, `${id}.${time}.`, body).digest('base64')}`);
  }
  return {
    'X-Service-Signature': stripe,
    'webhook-id': id,
    'webhook-timestamp': time,
    'webhook-signature': standard.join(' '),
  };
}

const hmac = (key: KeyObject, start: string, body: Uint8Array): Hmac =>
  createHmac('sha256', key).update(start).update(body);

function keysOf(secret: string): Keys {
  const ready = known.get(secret);
  if (ready !== undefined) return ready;
  const bytes = Buffer.from(secret.slice(prefix.length), 'base64');
  if (!secret.startsWith(prefix) || bytes.length === 0) {
    throw new Error('Cannot sign: the secret has another form, expected whsec_ and base64');
  }
  const keys: Keys = [createSecretKey(secret, 'utf8'), createSecretKey(bytes)];
  known.set(secret, keys);
  return keys;
}
