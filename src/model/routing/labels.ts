/**
 * Labels of routes, and their numbers in six bits of a scan's record and of a block's entry:
 *
 *   0         the code's target
 *   1 to 58   a label of the code's record
 *   59 to 62  a visit without a redirect, by reason; not a scan
 */
export const labelLengthMax = 40;
export const labelPattern = /^[a-z0-9-]{1,40}$/;

/** A name in analytics, which keeps its number as long as it has scans, also without a rule. */
export interface RouteLabel {
  readonly name: string;
  /** Absent while a rule or variant has the label. */
  readonly unusedSinceMs?: number;
}

/** The name, or the first of `name-2`, `name-3`, … that is free. */
export function freeLabel(name: string, taken: ReadonlySet<string>): string {
  let label = name;
  for (let number = 2; taken.has(label); number += 1) {
    const tail = `-${number}`;
    label = name.slice(0, labelLengthMax - tail.length) + tail;
  }
  return label;
}

export const targetRoute = 0;
export const labelsMax = 58;
export const missedRoutes = { paused: 59, not_started: 60, expired: 61, used_up: 62 } as const;
export type MissedReason = keyof typeof missedRoutes;
export const missedReasons = ['paused', 'not_started', 'expired', 'used_up'] as const;
const firstMissed = missedRoutes.paused;
/** The label of scans that no rule or split routed. */
export const targetLabel = 'target';
export const reservedLabels: ReadonlySet<string> = new Set([targetLabel, ...missedReasons]);

/** Whether a visit was not redirected, so that it is not a scan. */
export const isMissed = (route: number): boolean => route >= firstMissed;

export const missedReasonOf = (route: number): MissedReason | undefined =>
  missedReasons[route - firstMissed];

/** The label of a route number, 0 to 58; an unused number counts as the target. */
export const labelOfRoute = (labels: readonly RouteLabel[], route: number): string =>
  labels[route - 1]?.name ?? targetLabel;

/** @throws Error for an unknown label */
export function routeNumberOf(labels: readonly RouteLabel[], name: string): number {
  const at = labels.findIndex((label) => label.name === name);
  if (at === -1) throw new Error(`Cannot count route ${name}: it has no number, expected one`);
  return at + 1;
}
