/**
 * The visitor: from the 16 address bytes and the user agent of a scan record to class, place and keyed
 * hash. On the warm path (agent and address seen recently) nothing is allocated: the results stand in
 * the fields until the next `read`. One instance belongs to one shard thread.
 */
import type { BotReason, Browser, Device, Os, Platform, VisitorClass } from '../../model/scan.ts';
import { RecordText } from '../record.ts';
import { Geo } from './geo/geo.ts';
import { nowhere, type Place } from './geo/place.ts';
import type { OpenTable } from './geo/table-units.ts';
import { VisitorClasses } from './visitor-classes.ts';
import { VisitorIds } from './visitor-id.ts';

/** What a shard's thread is started with. */
export interface VisitorSetup {
  /** 16 secret bytes of this installation; another key makes every visitor new. */
  readonly key: Uint8Array;
  /** Undefined: every place is unknown. */
  readonly geo: OpenTable | undefined;
}

export function openVisitor(setup: VisitorSetup): Visitor {
  return new Visitor(setup.key, new Geo(setup.geo));
}

export class Visitor {
  readonly #geo: Geo;
  readonly #ids: VisitorIds;
  readonly #classes: VisitorClasses;
  #class: VisitorClass;
  #place: Place = nowhere;

  constructor(key: Uint8Array, geo: Geo) {
    const ids = new VisitorIds(key);
    this.#geo = geo;
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

  /** Upper half of the visitor's hash, unsigned. */
  get high(): number {
    return this.#ids.hi;
  }

  /** Lower half of the visitor's hash, unsigned. */
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
