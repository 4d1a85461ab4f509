/** The facts that a program may ask about a scan (routes/program-reader.ts), looked up on demand, once per scan. */
import type { HttpRequest } from 'uWebSockets.js';
import type { LinkReader } from '../../links/reader.ts';
import type { VisitorClass } from '../../model/scan.ts';
import { preferredLanguage } from '../../routes/language.ts';
import type { RouteFacts } from '../../routes/program-reader.ts';
import { queryPairs } from '../../routes/query-text.ts';
import type { KnownAgent } from '../../scans/visitor/agents.ts';
import type { Geo } from '../../scans/visitor/geo/geo.ts';
import { splitPoint } from '../../scans/visitor/visitor-id.ts';
import { headerNames } from '../uws-app.ts';

export class ScanFacts implements RouteFacts {
  readonly #links: LinkReader;
  readonly #geo: Geo;
  readonly #address = new Uint8Array(16);
  #request: HttpRequest | undefined;
  #agent: KnownAgent | undefined;
  #class: VisitorClass | undefined;
  #country: number | undefined;
  #language: string | undefined;
  #query: readonly string[] | undefined;
  nowMs = 0;

  constructor(links: LinkReader, geo: Geo) {
    this.#links = links;
    this.#geo = geo;
  }

  /** @param address 4 or 16 bytes @param request valid until its handler returns */
  begin(request: HttpRequest, agent: KnownAgent, address: Uint8Array, nowMs: number): void {
    copyMapped(address, this.#address);
    this.#request = request;
    this.#agent = agent;
    this.nowMs = nowMs;
    this.#class = undefined;
    this.#country = undefined;
    this.#language = undefined;
    this.#query = undefined;
  }

  get device(): number {
    return this.#visitorClass.device;
  }
  get os(): number {
    return this.#visitorClass.os;
  }
  get browser(): number {
    return this.#visitorClass.browser;
  }
  get country(): number {
    return (this.#country ??= this.#geo.lookup(this.#address, 0).countryNumber);
  }
  get language(): string {
    return (this.#language ??= preferredLanguage(
      this.#asked.getHeader(headerNames.acceptLanguage),
    ));
  }
  get query(): readonly string[] {
    return (this.#query ??= queryPairs(this.#asked.getQuery() ?? ''));
  }

  localMinutes(zone: number): number {
    return this.#links.localMinutes(zone, this.nowMs);
  }

  splitPoint(words: Int32Array, seed: number): number {
    return splitPoint(words, seed, this.#address, this.#known.hashes);
  }

  get #visitorClass(): VisitorClass {
    return (this.#class ??= this.#known.visitorClass);
  }

  get #known(): KnownAgent {
    if (this.#agent === undefined) throw new Error('Cannot read the agent: no scan has begun');
    return this.#agent;
  }

  get #asked(): HttpRequest {
    if (this.#request === undefined) throw new Error('Cannot read a header: no scan has begun');
    return this.#request;
  }
}

/** IPv4 as ::ffff:a.b.c.d. */
function copyMapped(address: Uint8Array, into: Uint8Array): void {
  if (address.length === into.length) return into.set(address);
  into.fill(0, 0, 10).fill(255, 10, 12).set(address, 12);
}
