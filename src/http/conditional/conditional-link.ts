/**
 * Decides the answer of a link that is not plain: it may have ended, may have no scan left, or has a program (routes/).
 * It checks in this order:
 *
 *   deleted, damaged  ->  paused  ->  not begun  ->  expired  ->  used up  ->  rules, split, target
 *   └─ a page            └─ the fallback, or a page with the reason              bots, previews, prefetches: the target
 *
 * A link with a program also records visits without a redirect, under their own route numbers. This is the hot path:
 * nothing awaits or logs. The fields are valid until the next call.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { LinkReader } from '../../links/reader.ts';
import { missedRoutes } from '../../model/routing/labels.ts';
import type { EndedReason } from '../../model/routing/pages.ts';
import type { ProgramReader } from '../../routes/program-reader.ts';
import { flagPrefetch, routeFlags } from '../../scans/record.ts';
import type { Agents } from '../../scans/visitor/agents.ts';
import type { Geo } from '../../scans/visitor/geo/geo.ts';
import type { Connection } from '../framing.ts';
import { redirectToProgram, redirectWithQuery } from '../reply-batch.ts';
import { ScanFacts } from './scan-facts.ts';
import type { ScannerAddresses } from '../scanner-address.ts';
import { headerNames } from '../uws-app.ts';

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

/** Whether a browser prefetches (Fetch standard and older headers). */
export function isPrefetch(request: HttpRequest): boolean {
  const purpose =
    request.getHeader(headerNames.secPurpose) ||
    request.getHeader(headerNames.purpose) ||
    request.getHeader(headerNames.xMoz);
  return purpose !== '' && /prefetch|prerender|preview/i.test(purpose);
}
