/**
 * The stored routing of a code: the fields that people set, the numbers of labels, the key that assigns visitors to
 * variants, and the value of `{campaign}`.
 *
 * A label has its number for as long as there are scans under it. There are 58: when all are taken, those are given to
 * new labels that no rule has had for a minute and no scan carries.
 */
import { Failure } from '../../../model/failure.ts';
import type { RandomBytes } from '../../../model/ids.ts';
import { labelsMax, type RouteLabel } from '../../../model/routing/labels.ts';
import type { Routing } from '../../../model/routing/routing.ts';
import { plainFields, type RouteFields } from './route-fields.ts';

/** Scans that were under way when the last rule with a label went away are counted long before. */
const unusedMsMin = 60_000;
const seedBytes = 16;

export interface RoutingSources {
  /** The value of `{campaign}`. */
  readonly campaign: string;
  readonly nowMs: number;
  /** Numbers that scans of the code carry; undefined = unknown, so that none is given to another label. */
  readonly seenOf: () => ReadonlySet<number> | undefined;
  readonly randomBytes: RandomBytes;
}

/**
 * @param fields undefined = all at their defaults
 * @returns undefined for a plain code that never had a label
 * @throws Failure labels_exhausted
 */
export function storedRouting(
  fields: RouteFields | undefined,
  before: Routing | undefined,
  { campaign, nowMs, seenOf, randomBytes }: RoutingSources,
): Routing | undefined {
  const hadLabels = before !== undefined && before.labels.length > 0;
  if (fields === undefined && !hadLabels) return undefined;
  const kept = fields ?? plainFields;
  const labels = numberedLabels(before?.labels ?? [], usedLabels(kept), nowMs, seenOf);
  const labelsSinceMs = hadLabels ? before.labelsSinceMs : nowMs;
  return {
    ...kept,
    labels,
    ...(labels.length === 0 || labelsSinceMs === undefined ? {} : { labelsSinceMs }),
    campaign,
    seed: before?.seed ?? newSeed(randomBytes),
  };
}

/** Of a deleted code: its analytics need the labels, and nothing leads anywhere. */
export const deletedRouting = ({ labels, labelsSinceMs, seed }: Routing): Routing => ({
  ...plainFields,
  labels,
  ...(labelsSinceMs === undefined ? {} : { labelsSinceMs }),
  campaign: '',
  seed,
});

function newSeed(randomBytes: RandomBytes): string {
  return Buffer.from(randomBytes(new Uint8Array(seedBytes))).toString('base64url');
}

/** Labels that scans can come under: a rule that leads to a split counts under its variants. */
function usedLabels({ rules, split = [] }: Pick<RouteFields, 'rules' | 'split'>): string[] {
  const ofRules = rules.flatMap(({ label, then }) =>
    'split' in then ? then.split.map((variant) => variant.label) : [label],
  );
  return [...ofRules, ...split.map(({ label }) => label)];
}

function numberedLabels(
  before: readonly RouteLabel[],
  used: readonly string[],
  nowMs: number,
  seenOf: RoutingSources['seenOf'],
): RouteLabel[] {
  const isUsed = new Set(used);
  const labels: RouteLabel[] = before.map(({ name, unusedSinceMs = nowMs }) =>
    isUsed.has(name) ? { name } : { name, unusedSinceMs },
  );
  const known = new Set(before.map(({ name }) => name));
  const fresh = used.filter((name) => !known.has(name));
  const appended = fresh.splice(0, labelsMax - labels.length);
  labels.push(...appended.map((name) => ({ name })));
  if (fresh.length === 0) return labels;
  const free = freePlaces(labels, nowMs, seenOf());
  for (const name of fresh) {
    const place = free.shift();
    if (place === undefined) throw exhausted();
    labels[place] = { name };
  }
  return labels;
}

/** Places of labels that can be given back, those out of use the longest first. */
function freePlaces(
  labels: readonly RouteLabel[],
  nowMs: number,
  seen: ReadonlySet<number> | undefined,
): number[] {
  if (seen === undefined) return [];
  return [...labels.entries()]
    .flatMap(([at, { unusedSinceMs = Infinity }]) =>
      nowMs - unusedSinceMs >= unusedMsMin && !seen.has(at + 1) ? [{ at, unusedSinceMs }] : [],
    )
    .sort((one, other) => one.unusedSinceMs - other.unusedSinceMs || one.at - other.at)
    .map(({ at }) => at);
}

function exhausted(): Failure {
  const detail = `Cannot name another route: the code has had ${labelsMax} labels with scans, expected fewer`;
  return new Failure('labels_exhausted', detail);
}
