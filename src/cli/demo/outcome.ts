/**
 * What a redirect thread would have recorded of a scan: the same program is followed, for a visitor of the demo. Which
 * states a code can be in, and in what order they are asked for: http/conditional-link.ts.
 */
import { minuteMs } from '../../model/day.ts';
import { codeStatusAt, type QrCodeRecord } from '../../model/code.ts';
import { missedRoutes, targetRoute } from '../../model/routing/labels.ts';
import { countryNumber } from '../../model/scan.ts';
import { type Calendar } from '../../model/zones/calendar.ts';
import { compileLink } from '../../routes/compile.ts';
import { preferredLanguage } from '../../routes/language.ts';
import { programWords, programZones } from '../../routes/program-layout.ts';
import { ProgramReader } from '../../routes/program-reader.ts';
import { flagPrefetch, routeFlags } from '../../scans/record.ts';
import type { Agents } from '../../scans/visitor/agents.ts';
import { splitPoint } from '../../scans/visitor/visitor-id.ts';
import { addressBytes } from './content/places.ts';
import { knownCalendar } from './content/restaurants.ts';
import type { DemoScan } from './traffic.ts';

export interface Outcome {
  /** Of the record. */
  readonly flags: number;
  /** Whether it counts: a person who did not come in vain. */
  readonly isScan: boolean;
}

/** A code, and how many scans it has had so far. */
export class DemoCode {
  readonly record: QrCodeRecord;
  readonly #agents: Agents;
  readonly #words: Int32Array | undefined;
  readonly #zones: readonly Calendar[];
  readonly #reader = new ProgramReader();
  #scans = 0;

  constructor(record: QrCodeRecord, agents: Agents) {
    this.record = record;
    this.#agents = agents;
    const { program } = compileLink(record);
    this.#words = program && programWords(program);
    const zones = this.#words === undefined ? [] : programZones(this.#words);
    // As in the arena a zone's word leads to its clock; 0 would be no zone.
    for (const [index, { word }] of zones.entries()) this.#words![word] = index + 1;
    this.#zones = zones.map(({ name }) => knownCalendar(name));
  }

  /** Undefined: nothing was recorded. */
  take(scan: DemoScan): Outcome | undefined {
    const agent = this.#agents.get(scan.visitor.agent);
    const flags = scan.isPrefetch ? flagPrefetch : 0;
    const isPerson = agent.isPerson && !scan.isPrefetch;
    const status = codeStatusAt(
      { ...this.record, ...this.record.routing },
      scan.timeMs,
      () => this.#scans,
    );
    if (status !== 'active') {
      if (this.#words === undefined) return undefined;
      return { flags: flags | routeFlags(missedRoutes[status]), isScan: false };
    }
    if (!isPerson) return { flags, isScan: false };
    this.#scans += 1;
    return { flags: routeFlags(this.#routeOf(scan)), isScan: true };
  }

  #routeOf({ timeMs, visitor }: DemoScan): number {
    const words = this.#words;
    if (words === undefined) return targetRoute;
    const agent = this.#agents.get(visitor.agent);
    const { device, os, browser } = agent.visitorClass;
    const address = new Uint8Array(16).fill(255, 10, 12);
    address.set(addressBytes(visitor.address), 12);
    this.#reader.open(words, 0);
    this.#reader.follow({
      nowMs: timeMs,
      device,
      os,
      browser,
      country: countryNumber(visitor.city.country),
      language: preferredLanguage(visitor.language),
      query: [],
      localMinutes: (zone) => {
        const aheadMinutes = this.#zones[zone - 1]?.offsetAt(timeMs) ?? Number.NaN;
        return Math.floor(timeMs / minuteMs) + aheadMinutes;
      },
      splitPoint: (split, seed) => splitPoint(split, seed, address, agent.hashes),
    });
    return this.#reader.route;
  }
}
