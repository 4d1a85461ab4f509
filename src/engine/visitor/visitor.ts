/** The visitor of a scan record: class, place and keyed hash, from its address and user agent. One instance per shard. */
import { Agents } from './agents.ts';
import { Geo, type GeoData } from './geo/geo.ts';
import { VisitorIds } from './visitor-id.ts';

export interface VisitorSetup {
  /** 16 secret bytes of this installation; with another key every visitor is new. */
  readonly key: Uint8Array;
  readonly geo: GeoData;
}

/** What is known of a scan's visitor. */
export interface ScanVisitor {
  visitorHigh: number;
  visitorLow: number;
  /** Two letters as one number. */
  country: number;
  /** With its country, "Chicago, US"; empty when unknown. */
  city: string;
  device: number;
  platform: number;
  os: number;
  browser: number;
  bot: number;
}

export class Visitor {
  readonly #geo: Geo;
  readonly #ids: VisitorIds;
  readonly #agents: Agents;

  constructor({ key, geo }: VisitorSetup) {
    this.#geo = new Geo(geo);
    this.#ids = new VisitorIds(key);
    this.#agents = new Agents(this.#ids.agentHash);
  }

  /** @param address 16 bytes, IPv4 as ::ffff:a.b.c.d @param into gets what is known of the visitor */
  read(address: Uint8Array, userAgent: string, into: ScanVisitor): void {
    const agent = this.#agents.get(userAgent);
    const { device, platform, os, browser } = agent.visitorClass;
    const { countryNumber, namedCity } = this.#geo.lookup(address, 0);
    this.#ids.hashVisitor(address, 0, ...agent.hashes);
    into.visitorHigh = this.#ids.hi;
    into.visitorLow = this.#ids.lo;
    into.country = countryNumber;
    into.city = namedCity;
    into.device = device;
    into.platform = platform;
    into.os = os;
    into.browser = browser;
    into.bot = agent.bot;
  }
}
