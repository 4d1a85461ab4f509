/**
 * Faults of a code's routes by rules over several fields, and by the rules of targets: all at once, each with its path. The
 * schema checks shapes and bounds of single fields (api/codes/routing-schemas.ts). A body with faults of its schema is
 * checked here too, without its faulty parts, so any field may be missing.
 */
import type { Fault } from '../../../model/failure.ts';
import { reservedLabels, targetLabel } from '../../../model/routing/labels.ts';
import { routeTargetsMax } from '../../../model/routing/routing.ts';
import { utmToken, utmTokens, withUtm } from '../../../engine/routes/utm.ts';
import { fault } from '../rules.ts';
import { type CheckedTarget, isFaults, tooLong, urlLengthMax, validateTarget } from '../targets.ts';
import { type GivenRoutes, type GivenUtm, keptUtm } from './route-fields.ts';

interface Leading {
  readonly label?: string | undefined;
  readonly target?: string | undefined;
}

/** The sound parts of a request's routes. */
export interface ReadRoutes extends Omit<GivenRoutes, 'rules' | 'split'> {
  readonly rules?: readonly ReadRule[] | undefined;
  readonly split?: readonly Leading[] | undefined;
}
interface ReadRule {
  readonly label?: string | undefined;
  readonly then?: (Pick<Leading, 'target'> & Pick<ReadRoutes, 'split'>) | undefined;
}

/** Other fields of the code that the checks need. */
export interface OtherFields {
  readonly dynamic: boolean;
  /** As it will be stored; undefined = unknown or faulty. */
  readonly target?: string | undefined;
  /** Its short code. */
  readonly slug: string;
  /** Name of its campaign; empty without. */
  readonly campaign: string;
  /** Of a code whose campaign stays: the name that its addresses have. */
  readonly campaignBefore?: string | undefined;
  readonly expiresAtMs?: number | undefined;
}

/** By the rules of a code's `target`; asked for each target, so it remembers. */
export type TargetCheck = (target: string) => CheckedTarget;

/** @param known hrefs that the code has already: they are not checked again */
export function targetCheck(
  ownHosts: readonly string[],
  known: readonly string[] = [],
): TargetCheck {
  const checked = new Map<string, CheckedTarget>(known.map((target) => [target, { target }]));
  return (target) => {
    const found = checked.get(target) ?? validateTarget('url', target, ownHosts);
    checked.set(target, found);
    return found;
  };
}

export function routeFaults(routes: ReadRoutes, code: OtherFields, check: TargetCheck): Fault[] {
  if (!code.dynamic) return staticFaults(routes);
  return [
    ...labelFaults(routes),
    ...targetFaults(routes, code, check),
    ...tokenFaults(routes.utm),
    ...startFaults(routes.startsAtMs, code.expiresAtMs),
  ];
}

/** Every target that a visitor may be led to, without `target` itself and the fallback. */
export function targetsOf(routes: ReadRoutes): ReadonlyArray<Leading & { readonly path: string }> {
  const variants = (path: string, split: readonly Leading[] = []) =>
    split.map(({ label, target }, at) => ({ label, target, path: `${path}.${at}.target` }));
  const ofRules = (routes.rules ?? []).flatMap(({ label, then }, at) => {
    const path = `rules.${at}.then`;
    const own = then?.target === undefined ? [] : [{ label, target: then.target }];
    return [
      ...own.map((leading) => ({ ...leading, path: `${path}.target` })),
      ...variants(`${path}.split`, then?.split),
    ];
  });
  return [...ofRules, ...variants('split', routes.split)];
}

function staticFaults(routes: ReadRoutes): Fault[] {
  const set = {
    rules: (routes.rules ?? []).length > 0,
    split: routes.split !== undefined,
    utm: keptUtm(routes.utm) !== undefined,
    passQuery: routes.passQuery === true,
    startsAt: routes.startsAtMs !== undefined,
    paused: routes.paused === true,
    fallbackUrl: routes.fallbackUrl !== undefined,
  };
  return Object.entries(set).flatMap(([path, isSet]) =>
    isSet
      ? [fault(path, 'dynamic_only', `A static code has no short link, so it takes no ${path}`)]
      : [],
  );
}

/** Each label once in the code, over rules and variants together. */
function labelFaults(routes: ReadRoutes): Fault[] {
  const variants = (path: string, split: readonly Leading[] = []) =>
    split.map(({ label }, at) => ({ path: `${path}.${at}.label`, label }));
  const labels = [
    ...(routes.rules ?? []).flatMap(({ label, then }, at) => [
      { path: `rules.${at}.label`, label },
      ...variants(`rules.${at}.then.split`, then?.split),
    ]),
    ...variants('split', routes.split),
  ];
  const firstPaths = new Map<string, string>();
  return labels.flatMap(({ path, label }) => {
    if (label === undefined) return [];
    if (reservedLabels.has(label)) {
      return [fault(path, 'reserved', 'Analytics reserves this label; choose another')];
    }
    const first = firstPaths.get(label);
    if (first !== undefined) return [fault(path, 'duplicate', `This label is at ${first} already`)];
    firstPaths.set(label, path);
    return [];
  });
}

function targetFaults(
  routes: ReadRoutes,
  { target: main, slug, campaign }: OtherFields,
  check: TargetCheck,
): Fault[] {
  const utm = keptUtm(routes.utm);
  const isTooLong = (href: string, label = ''): boolean =>
    withUtm(href, utm, { slug, label, campaign }).length > urlLengthMax;
  const led = targetsOf(routes);
  const faults: Fault[] = [];
  if (led.length > routeTargetsMax) {
    const message = `At most ${routeTargetsMax} targets in rules and splits together, there are ${led.length}`;
    faults.push(fault(led[routeTargetsMax]?.path ?? 'rules', 'too_many', message));
  }
  if (main !== undefined && isTooLong(main, targetLabel)) faults.push(...at('target', longWithUtm));
  for (const { path, target, label } of led) {
    if (target === undefined) continue;
    const checked = check(target);
    if (isFaults(checked)) faults.push(...at(path, checked));
    else if (isTooLong(checked.target, label)) faults.push(...at(path, longWithUtm));
  }
  const { fallbackUrl } = routes;
  if (fallbackUrl === undefined) return faults;
  const checked = check(fallbackUrl);
  return isFaults(checked) ? [...faults, ...at('fallbackUrl', checked)] : faults;
}

const longWithUtm = tooLong.map((one) => ({ ...one, message: `${one.message}, with its utm` }));

const at = (path: string, faults: readonly Fault[]): Fault[] =>
  faults.map((one) => ({ ...one, path }));

function tokenFaults(utm: GivenUtm = {}): Fault[] {
  const known = [...utmTokens].map((name) => `{${name}}`).join(', ');
  return Object.entries(utm).flatMap(([key, value]) => {
    const tokens = [...(value ?? '').matchAll(utmToken)];
    const unknown = tokens.find(([, name = '']) => !utmTokens.has(name));
    return unknown === undefined
      ? []
      : [fault(`utm.${key}`, 'unknown_token', `Expected one of ${known} in braces`)];
  });
}

function startFaults(startsAtMs: number | undefined, expiresAtMs = Infinity): Fault[] {
  if (startsAtMs === undefined || startsAtMs < expiresAtMs) return [];
  return [fault('startsAt', 'after_expiry', 'Expected a time before `expiresAt`')];
}
