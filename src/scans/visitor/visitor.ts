/**
 * The visitor of a scan record: class, place and keyed hash, from its address and user agent. For a recent agent and address
 * nothing is allocated: the fields have the results until the next `read`. One instance per shard thread.
 */
import type { BotReason, Browser, Device, Os, Platform, VisitorClass } from '../../model/scan.ts';
import { RecordText } from '../record.ts';
import { Geo, type GeoData } from './geo/geo.ts';
import { nowhere, type Place } from './geo/place.ts';
import { classifyRoughly, classifyUserAgent } from './device.ts';
import { RecentBytes } from './recent-bytes.ts';
import { ReadingBudget, userAgentCharactersMax } from './user-agent.ts';
import { VisitorIds } from './visitor-id.ts';

export interface VisitorSetup {
  /** 16 secret bytes of this installation; with another key every visitor is new. */
  readonly key: Uint8Array;
  readonly geo: GeoData;
}

export class Visitor {
  readonly #geo: Geo;
  readonly #ids: VisitorIds;
  readonly #classes: VisitorClasses;
  #class: VisitorClass;
  #place: Place = nowhere;

  constructor({ key, geo }: VisitorSetup) {
    const ids = new VisitorIds(key);
    this.#geo = new Geo(geo);
    this.#ids = ids;
    this.#classes = new VisitorClasses((userAgent) => ids.hashAgent(userAgent));
    this.#class = this.#classes.get(new RecordText()).visitorClass;
  }

  /** @param address 16 bytes, IPv4 as ::ffff:a.b.c.d */
  read(address: Uint8Array, userAgent: RecordText): void {
    const agent = this.#classes.get(userAgent);
    this.#class = agent.visitorClass;
    this.#place = this.#geo.lookup(address, 0);
    this.#ids.hashVisitor(address, 0, agent.hashHi, agent.hashLo);
  }

  get high(): number {
    return this.#ids.hi;
  }

  get low(): number {
    return this.#ids.lo;
  }

  /** Two letters as one number. */
  get country(): number {
    return this.#place.countryNumber;
  }

  /** With its country, "Chicago, US"; empty when unknown. */
  get city(): string {
    return this.#place.namedCity;
  }

  get device(): Device {
    return this.#class.device;
  }

  get platform(): Platform {
    return this.#class.platform;
  }

  get os(): Os {
    return this.#class.os;
  }

  get browser(): Browser {
    return this.#class.browser;
  }

  get bot(): BotReason {
    return this.#class.bot;
  }
}

interface Agent {
  readonly visitorClass: VisitorClass;
  readonly hashHi: number;
  readonly hashLo: number;
}

/** 16,384 agents of 512 characters are 9 MB; the 1,000 most common are nearly all visitors. */
const defaultAgentsMax = 16_384;

/**
 * Caches the classes and keyed hashes of recent user agents, so that a scan costs one look-up. Against invented agents,
 * `RecentBytes` bounds memory and a budget bounds work; beyond it agents are read roughly and not cached.
 */
export class VisitorClasses {
  readonly #hash: (userAgent: string) => readonly [hi: number, lo: number];
  readonly #agents: RecentBytes<Agent>;
  readonly #budget = new ReadingBudget();

  constructor(
    hash: (userAgent: string) => readonly [hi: number, lo: number],
    agentsMax: number = defaultAgentsMax,
  ) {
    this.#hash = hash;
    this.#agents = new RecentBytes(agentsMax, userAgentCharactersMax);
  }

  get size(): number {
    return this.#agents.size;
  }

  get(userAgent: RecordText): Agent {
    this.#budget.lookUp();
    const length = Math.min(userAgent.length, userAgentCharactersMax);
    const known = this.#agents.find(userAgent.view, userAgent.from, length);
    return known ?? this.#read(userAgent.toString(length));
  }

  /** Reads the agent that `find` has just missed. */
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
