/**
 * Checks the routes of a new or changed code together with its other fields, and makes what its record stores.
 */
import { randomFillSync } from 'node:crypto';
import { type Fault, readOr } from '../../../model/failure.ts';
import type { RandomBytes } from '../../../model/ids.ts';
import type { CodeNo } from '../../../model/numbers.ts';
import type { Routing } from '../../../model/routing/routing.ts';
import { isFaults } from '../targets.ts';
import { type OtherFields, routeFaults, targetCheck, targetsOf } from './route-faults.ts';
import { type GivenRoutes, keptRoutes, type RouteFields } from './route-fields.ts';
import { storedRouting } from './stored-routing.ts';

/** Numbers of routes (model/routing/labels.ts) that scans of a code carry. */
export type RoutesSeen = (codeNo: CodeNo) => ReadonlySet<number>;

export interface CodeRoutingOptions {
  readonly randomBytes?: RandomBytes;
  /** Absent = every label counts as having scans: for commands that cannot read them. */
  readonly routesSeen?: RoutesSeen;
}

export interface CheckedRoutes {
  readonly faults: readonly Fault[];
  /** As they would be stored; undefined = all at their defaults. */
  readonly kept?: RouteFields | undefined;
  /** The value of `{campaign}` in them. */
  readonly campaign: string;
}

export class CodeRouting {
  readonly #options: CodeRoutingOptions;
  readonly #ownHosts: readonly string[];

  constructor(options: CodeRoutingOptions, ownHosts: readonly string[]) {
    this.#options = options;
    this.#ownHosts = ownHosts;
  }

  /**
   * If the new name of a campaign makes an address too long, this code keeps the old name: a change of another field is
   * not refused because somebody renamed the campaign.
   *
   * @param before what the code has so far: its own targets are not checked again
   */
  check(given: GivenRoutes, code: OtherFields, before: Routing | undefined): CheckedRoutes {
    const checked = this.#checkNamed(given, code, before);
    const { campaignBefore = code.campaign } = code;
    if (checked.faults.length === 0 || campaignBefore === code.campaign) return checked;
    return this.#checkNamed(given, { ...code, campaign: campaignBefore }, before);
  }

  #checkNamed(given: GivenRoutes, code: OtherFields, before: Routing | undefined): CheckedRoutes {
    const { campaign } = code;
    const check = targetCheck(this.#ownHosts, before === undefined ? [] : hrefsOf(before));
    const faults = routeFaults(given, code, check);
    if (faults.length > 0 || !code.dynamic) return { faults, campaign };
    const hrefOf = (target: string): string => {
      const checked = check(target);
      return isFaults(checked) ? target : checked.target;
    };
    return { faults: [], kept: keptRoutes(given, hrefOf), campaign };
  }

  /**
   * @param codeNo undefined for a new code
   * @returns what the record keeps; undefined for a plain code
   * @throws Failure labels_exhausted
   */
  stored(
    kept: RouteFields | undefined,
    before: Routing | undefined,
    at: { readonly codeNo?: CodeNo; readonly campaign: string; readonly nowMs: number },
  ): Routing | undefined {
    const { randomBytes = randomFillSync, routesSeen } = this.#options;
    const { codeNo, campaign, nowMs } = at;
    // Where numbers are damaged, every label may have scans.
    const seenOf = (): ReadonlySet<number> | undefined =>
      codeNo === undefined ? undefined : readOr(() => routesSeen?.(codeNo), undefined);
    return storedRouting(kept, before, { campaign, nowMs, seenOf, randomBytes });
  }
}

function hrefsOf(routing: Routing): string[] {
  const { fallbackUrl } = routing;
  const led = targetsOf(routing).flatMap(({ target }) => target ?? []);
  return fallbackUrl === undefined ? led : [...led, fallbackUrl];
}
