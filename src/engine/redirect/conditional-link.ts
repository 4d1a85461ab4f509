/**
 * Decides the answer of a link that is not plain: it may have ended, have no scan left, or have a program (engine/routes/).
 *
 *   deleted, damaged  ->  paused  ->  not begun  ->  expired  ->  used up  ->  rules, split, target
 *   └─ a page            └─ the fallback, or a page with the reason              bots, previews, prefetches: the target
 *
 * A link with a program also records visits without a redirect, under their own route numbers. Nothing awaits or logs.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { LinkReader } from '../links/reader.ts';
import { missedRoutes } from '../../model/routing/labels.ts';
import type { EndedReason } from '../../model/routing/pages.ts';
import { preferredLanguage } from '../routes/language.ts';
import type { ProgramReader, RouteFacts } from '../routes/program-reader.ts';
import { queryPairs } from '../routes/query-text.ts';
import { flagPrefetch, routeFlags } from '../journal/record.ts';
import type { Agents, KnownAgent } from '../visitor/agents.ts';
import type { Geo } from '../visitor/geo/geo.ts';
import { splitPoint } from '../visitor/visitor-id.ts';
import type { Connection } from '../../platform/uws/framing.ts';
import { redirectToProgram, redirectWithQuery } from './reply-batch.ts';
import type { ScannerAddresses } from './scanner-address.ts';
import { headerNames } from '../../platform/uws/uws-app.ts';

export interface ConditionalLinkOptions {
  readonly links: LinkReader;
  readonly geo: Geo;
  readonly agents: Agents;
  readonly addresses: ScannerAddresses;
}

/** `scan` takes one of the link's limit, `look` does not. */
type Purpose = 'scan' | 'look';

const noAddress = new Uint8Array(4);

export class ConditionalLink {
  readonly #options: ConditionalLinkOptions;
  readonly #facts: ScanFacts;
  /** Why the link does not redirect, or redirects to its fallback. */
  ended: EndedReason | 'damaged' | undefined;
  /** Undefined = the redirect to the entry's target or, with `ended`, a page. */
  answer: Uint8Array | undefined;
  isRecorded = true;
  isLimited = false;
  flags = 0;
  address: Uint8Array = noAddress;
  agent = '';

  constructor(options: ConditionalLinkOptions) {
    this.#options = options;
    this.#facts = new ScanFacts(options.links, options.geo);
  }

  /** Sets the fields. @param nowMs wall clock of the cycle */
  decide(
    purpose: Purpose,
    link: number,
    response: HttpResponse,
    request: HttpRequest,
    connection: Connection,
    nowMs: number,
  ): void {
    const { links, agents, addresses } = this.#options;
    const program = links.program(link);
    this.answer = undefined;
    this.isLimited = false;
    this.agent = request.getHeader(headerNames.userAgent);
    this.flags = isPrefetch(request) ? flagPrefetch : 0;
    this.ended = endedReason(links, link, program, nowMs) ?? this.#usedUp(purpose, link);
    this.isRecorded = this.ended === undefined || program !== undefined;
    if (!this.isRecorded) return;
    this.address = addresses.of(response, request);
    if (program === undefined) return;
    if (this.ended !== undefined) return this.#leadToFallback(program, connection);
    const agent = agents.get(this.agent);
    const isPerson = this.flags === 0 && agent.isPerson;
    let target = 0;
    if (isPerson) {
      this.#facts.begin(request, agent, this.address, nowMs);
      program.follow(this.#facts);
      target = program.target;
      this.flags |= routeFlags(program.route);
    }
    const query = program.passesQuery ? (request.getQuery() ?? '') : '';
    if (target !== 0) {
      this.answer = redirectToProgram(program.words, target, connection, query);
    } else if (query !== '') {
      this.answer = redirectWithQuery(links, link, connection, query);
    }
  }

  #leadToFallback(program: ProgramReader, connection: Connection): void {
    if (this.ended !== undefined && this.ended !== 'damaged' && this.ended !== 'deleted') {
      this.flags |= routeFlags(missedRoutes[this.ended]);
    }
    const { fallback } = program;
    if (fallback !== 0) {
      this.answer = redirectToProgram(program.words, fallback, connection, '');
    }
  }

  /** Bots are redirected while scans are left, and take none. */
  #usedUp(purpose: Purpose, link: number): 'used_up' | undefined {
    const { links, agents } = this.#options;
    const left = links.scansLeft(link);
    if (left === unlimited) return undefined;
    const takes = purpose === 'scan' && this.flags === 0 && agents.get(this.agent).isPerson;
    this.isLimited = takes && links.takeScan(link);
    return (takes ? this.isLimited : left > 0) ? undefined : 'used_up';
  }
}

const unlimited = -1;

function endedReason(
  links: LinkReader,
  link: number,
  program: ProgramReader | undefined,
  nowMs: number,
): EndedReason | 'damaged' | undefined {
  const state = links.state(link);
  if (state !== 'live') return state;
  if (program?.isPaused === true) return 'paused';
  if (program !== undefined && program.startsAtMs > nowMs) return 'not_started';
  const expiresAtMs = links.expiresAtMs(link);
  return expiresAtMs !== 0 && expiresAtMs <= nowMs ? 'expired' : undefined;
}

export function isPrefetch(request: HttpRequest): boolean {
  const purpose =
    request.getHeader(headerNames.secPurpose) ||
    request.getHeader(headerNames.purpose) ||
    request.getHeader(headerNames.xMoz);
  return purpose !== '' && /prefetch|prerender|preview/i.test(purpose);
}

/** The facts that a program may ask about a scan (routes/program-reader.ts), looked up on demand, once per scan. */
class ScanFacts implements RouteFacts {
  readonly #links: LinkReader;
  readonly #geo: Geo;
  readonly #address = new Uint8Array(16);
  #request: HttpRequest | undefined;
  #agent: KnownAgent | undefined;
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
    this.#country = undefined;
    this.#language = undefined;
    this.#query = undefined;
  }

  get device(): number {
    return this.#known.visitorClass.device;
  }
  get os(): number {
    return this.#known.visitorClass.os;
  }
  get browser(): number {
    return this.#known.visitorClass.browser;
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
