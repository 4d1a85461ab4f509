/**
 * Signs a delivery, so that a receiver can verify its origin: two signatures over the exact bytes of the body.
 *
 *   X-Service-Signature   t=<unix seconds>,v1=<hex>[,v1=<hex>…]     the layout of Stripe's signatures
 *                         HMAC-SHA256, key = the whole secret text    over `<t>.<body>`
 *   webhook-id            the event's id                             Standard Webhooks 1.0
 *   webhook-timestamp     <unix seconds>
 *   webhook-signature     v1,<base64>[ v1,<base64>…]
 *                         HMAC-SHA256, key = the base64 after whsec_  over `<id>.<t>.<body>`
 *
 * One signature for each secret that is valid now, newest first: during the overlap of a rotation both the
 * old secret and the new one verify. The body is never decoded: the bytes that are signed are sent.
 *
 * HMAC (RFC 2104) is computed with one-shot hashes: `createHmac` creates two native objects per signature,
 * which cost, with their collection, more than the hashing (2.4 against 1.5 µs at 300 bytes). Both
 * signatures are computed in place around one copy of the body:
 *
 *   scratch   [ inner key 64 ][ id . ][ t . ][ body ]      the second begins with its key before `t`
 */
import { hash } from 'node:crypto';

const prefix = 'whsec_';
/** Block of SHA-256: keys are padded to it. */
const blockBytes = 64;
const digestBytes = 32;
/** Secrets whose keys are kept, about 1 KB each; beyond it all are computed again (a Map: this runs per attempt). */
const keysMax = 4_096;

export interface Signed {
  readonly body: Uint8Array;
  /** `evt_…`, ASCII. */
  readonly id: string;
  readonly timestampSeconds: number;
  /** `whsec_…`, newest first. */
  readonly secrets: readonly string[];
}

export interface SignatureHeaders {
  readonly 'X-Service-Signature': string;
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/** An HMAC key in its two padded forms; the outer one has space for the inner digest behind it. */
interface Key {
  readonly inner: Buffer;
  readonly outer: Buffer;
}

interface Keys {
  readonly text: Key;
  readonly decoded: Key;
}

const known = new Map<string, Keys>();
/** Grows to the largest body signed, which the sender bounds (64 KB). */
let scratch = Buffer.allocUnsafeSlow(4_096);

/** @throws Error for a secret that is not `whsec_` and base64: no receiver could verify it */
export function signHeaders({ body, id, timestampSeconds, secrets }: Signed): SignatureHeaders {
  const time = String(timestampSeconds);
  const timeAt = blockBytes + id.length + 1;
  const end = timeAt + time.length + 1 + body.length;
  if (end > scratch.length) scratch = Buffer.allocUnsafeSlow(end);
  scratch.set(body, timeAt + time.length + 1);
  scratch.write(`${time}.`, timeAt, 'latin1');
  let stripe = `t=${time}`;
  let standard = '';
  for (const secret of secrets) {
    const { text, decoded } = keysOf(secret);
    stripe += `,v1=${hmac(text, timeAt, end, 'hex')}`;
    scratch.write(`${id}.`, blockBytes, 'latin1');
    standard += `${standard === '' ? '' : ' '}v1,${hmac(decoded, blockBytes, end, 'base64')}`;
  }
  return {
    'X-Service-Signature': stripe,
    'webhook-id': id,
    'webhook-timestamp': time,
    'webhook-signature': standard,
  };
}

/** HMAC-SHA256 of scratch from `start` to `end`; overwrites the block before it. */
function hmac(key: Key, start: number, end: number, encoding: 'hex' | 'base64'): string {
  scratch.set(key.inner, start - blockBytes);
  const digest = hash('sha256', scratch.subarray(start - blockBytes, end), 'binary');
  key.outer.write(digest, blockBytes, 'binary');
  return hash('sha256', key.outer, encoding);
}

function keysOf(secret: string): Keys {
  const ready = known.get(secret);
  if (ready !== undefined) return ready;
  const bytes = Buffer.from(secret.slice(prefix.length), 'base64');
  if (!secret.startsWith(prefix) || bytes.length === 0) {
    throw new Error('Cannot sign: the secret has another form, expected whsec_ and base64');
  }
  const keys = { text: keyOf(Buffer.from(secret)), decoded: keyOf(bytes) };
  if (known.size >= keysMax) known.clear();
  known.set(secret, keys);
  return keys;
}

function keyOf(bytes: Buffer): Key {
  const short = bytes.length > blockBytes ? hash('sha256', bytes, 'buffer') : bytes;
  const inner = Buffer.alloc(blockBytes, 0x36);
  const outer = Buffer.alloc(blockBytes + digestBytes, 0x5c);
  for (const [index, byte] of short.entries()) {
    inner[index] = byte ^ 0x36;
    outer[index] = byte ^ 0x5c;
  }
  return { inner, outer };
}
