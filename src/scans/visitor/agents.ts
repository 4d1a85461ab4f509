/**
 * What redirect threads know of recent user agents: whether it is a bot's, for links with a limit; its class and hash, for
 * rules and splits. A known agent costs 0.1 µs; a new one 5 µs for its bot reason, 15 to 40 for its class, within a budget.
 */
import { BotReason, type VisitorClass } from '../../model/scan.ts';
import { botReasonOf } from './bot.ts';
import { classifyRoughly, classifyUserAgent } from './device.ts';
import { SipHash } from './sip-hash.ts';
import { cutUserAgent, ReadingBudget } from './user-agent.ts';

/** 8,192 agents of 512 characters are 5 MB in a redirect thread. One more clears them all. */
export const agentsMax = 8_192;
/** The split's key hides the agents' hashes, so this key may be public; it is the same on every machine. */
const hash = new SipHash(new Uint8Array(16));

export class KnownAgent {
  readonly bot: BotReason;
  readonly #text: string;
  readonly #budget: ReadingBudget;
  #class: VisitorClass | undefined;
  #hashes: readonly [high: number, low: number] | undefined;

  constructor(text: string, budget: ReadingBudget) {
    this.#text = text;
    this.#budget = budget;
    this.bot = botReasonOf(text);
  }

  get isPerson(): boolean {
    return this.bot === BotReason.none;
  }

  get visitorClass(): VisitorClass {
    if (this.#class !== undefined) return this.#class;
    if (!this.#budget.take()) return classifyRoughly(this.#text);
    return (this.#class = classifyUserAgent(this.#text));
  }

  get hashes(): readonly [high: number, low: number] {
    if (this.#hashes !== undefined) return this.#hashes;
    const bytes = Buffer.from(this.#text, 'utf8');
    hash.hash(bytes, 0, bytes.length);
    return (this.#hashes = [hash.hi, hash.lo]);
  }
}

export class Agents {
  readonly #known = new Map<string, KnownAgent>();
  readonly #budget = new ReadingBudget();

  get size(): number {
    return this.#known.size;
  }

  get(userAgent: string): KnownAgent {
    this.#budget.lookUp();
    const text = cutUserAgent(userAgent);
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    if (this.#known.size === agentsMax) this.#known.clear();
    const agent = new KnownAgent(text, this.#budget);
    this.#known.set(text, agent);
    return agent;
  }
}
