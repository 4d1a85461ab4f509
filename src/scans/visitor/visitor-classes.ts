/**
 * Classes of the user agents seen recently, and their keyed hashes, so that a scan costs one look-up.
 *
 * Bounds against invented agents: memory by `RecentBytes`; work by a budget, beyond which they are read roughly and not
 * kept.
 */
import type { VisitorClass } from '../../model/scan.ts';
import type { RecordText } from '../record.ts';
import { classifyRoughly, classifyUserAgent } from './device.ts';
import { ReadingBudget } from './reading-budget.ts';
import { RecentBytes } from './recent-bytes.ts';
import { userAgentCharactersMax } from './user-agent.ts';

/** A user agent's class and the keyed hash of its text. */
export interface Agent {
  readonly visitorClass: VisitorClass;
  readonly hashHi: number;
  readonly hashLo: number;
}

/** 16,384 agents of 512 characters are 9 MB; the 1,000 commonest make up nearly all visitors. */
const defaultAgentsMax = 16_384;

export class VisitorClasses {
  readonly #hash: (userAgent: string) => readonly [hi: number, lo: number];
  readonly #agents: RecentBytes<Agent>;
  readonly #budget = new ReadingBudget();

  /** @param hash keyed hash of an agent's text, in halves */
  constructor(
    hash: (userAgent: string) => readonly [hi: number, lo: number],
    agentsMax: number = defaultAgentsMax,
  ) {
    this.#hash = hash;
    this.#agents = new RecentBytes(agentsMax, userAgentCharactersMax);
  }

  /** Agents kept now; at most the bound given. */
  get size(): number {
    return this.#agents.size;
  }

  get(userAgent: RecordText): Agent {
    this.#budget.lookUp();
    const length = Math.min(userAgent.length, userAgentCharactersMax);
    const known = this.#agents.find(userAgent.view, userAgent.from, length);
    return known ?? this.#read(userAgent.toString(length));
  }

  /** Of the agent that was looked for last. */
  #read(userAgent: string): Agent {
    const [hashHi, hashLo] = this.#hash(userAgent);
    if (!this.#budget.take()) {
      return { visitorClass: classifyRoughly(userAgent), hashHi, hashLo };
    }
    const agent: Agent = { visitorClass: classifyUserAgent(userAgent), hashHi, hashLo };
    this.#agents.keep(agent);
    return agent;
  }
}
