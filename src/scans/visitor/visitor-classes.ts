/**
 * Classes of the user agents seen recently, and their keyed hashes, so that a scan costs one look-up.
 *
 * Bounds against invented agents: memory by `RecentBytes`; work by a budget: of any 4,096
 * look-ups at most 1,024 are read in full, the others roughly and not kept.
 */
import type { VisitorClass } from '../../model/scan.ts';
import type { RecordText } from '../record.ts';
import { classifyRoughly, classifyUserAgent } from './device.ts';
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
/** Look-ups over which full readings are counted. */
const budgetLookups = 4_096;
/** Full readings among them: 1,024 of 40 µs make 10 µs a scan in the worst flood. */
const budgetReadings = 1_024;

export class VisitorClasses {
  readonly #hash: (userAgent: string) => readonly [hi: number, lo: number];
  readonly #agents: RecentBytes<Agent>;
  #lookups = 0;
  #readings = 0;

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
    if (++this.#lookups === budgetLookups) {
      this.#lookups = 0;
      this.#readings = 0;
    }
    const length = Math.min(userAgent.length, userAgentCharactersMax);
    const known = this.#agents.find(userAgent.view, userAgent.from, length);
    return known ?? this.#read(userAgent.toString(length));
  }

  /** Of the agent that was looked for last. */
  #read(userAgent: string): Agent {
    const [hashHi, hashLo] = this.#hash(userAgent);
    if (this.#readings === budgetReadings) {
      return { visitorClass: classifyRoughly(userAgent), hashHi, hashLo };
    }
    this.#readings++;
    const agent: Agent = { visitorClass: classifyUserAgent(userAgent), hashHi, hashLo };
    this.#agents.keep(agent);
    return agent;
  }
}
