/**
 * Recent user agents, each read once: the shards' for counting, the redirect threads' for limits, rules and splits. A known
 * agent costs 0.3 µs; a new one 5 µs for its bot reason, 15 to 40 for its class.
 */
import { BotReason, type VisitorClass } from '../../model/scan.ts';
import { textBytesMax } from '../journal/record.ts';
import { botReasonOf } from './bot.ts';
import { classifyUserAgent } from './device.ts';
import { SipHash } from './sip-hash.ts';

/** 5 MB of agents in each thread. One more clears them all; the 1,000 most common are nearly all visitors. */
export const agentsMax = 8_192;

export class KnownAgent {
  readonly bot: BotReason;
  readonly #text: string;
  readonly #hash: SipHash;
  #class: VisitorClass | undefined;
  #hashes: readonly [high: number, low: number] | undefined;

  constructor(text: string, hash: SipHash) {
    this.#text = text;
    this.#hash = hash;
    this.bot = botReasonOf(text);
  }

  get isPerson(): boolean {
    return this.bot === BotReason.none;
  }

  get visitorClass(): VisitorClass {
    return (this.#class ??= classifyUserAgent(this.#text));
  }

  get hashes(): readonly [high: number, low: number] {
    if (this.#hashes !== undefined) return this.#hashes;
    const bytes = Buffer.from(this.#text, 'utf8');
    this.#hash.hash(bytes, 0, bytes.length);
    return (this.#hashes = [this.#hash.hi, this.#hash.lo]);
  }
}

export class Agents {
  readonly #known = new Map<string, KnownAgent>();
  readonly #hash: SipHash;

  /** @param hash by default with a public key, so that every machine splits alike; the secret of a split hides the hashes */
  constructor(hash = new SipHash(new Uint8Array(16))) {
    this.#hash = hash;
  }

  get size(): number {
    return this.#known.size;
  }

  get(userAgent: string): KnownAgent {
    const text = cut(userAgent);
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    if (this.#known.size === agentsMax) this.#known.clear();
    const agent = new KnownAgent(text, this.#hash);
    this.#known.set(text, agent);
    return agent;
  }
}

/** A copy: a slice would keep the whole text alive as a key. */
function cut(userAgent: string): string {
  if (userAgent.length <= textBytesMax) return userAgent;
  const text = userAgent.slice(0, textBytesMax);
  return Buffer.from(text, 'utf16le').toString('utf16le');
}
