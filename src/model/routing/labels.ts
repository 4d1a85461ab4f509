/**
 * Labels of routes, and the numbers that scans carry in their place, in six bits of a record and of a block's entry:
 *
 *   0         it led to the code's target
 *   1 to 58   the label that the code's record has at this number
 *   59 to 62  somebody came in vain, and why: no scan
 */
export const labelLengthMax = 40;
export const labelPattern = /^[a-z0-9-]{1,40}$/;

/** A name in analytics. It keeps its number for as long as it has scans, whatever becomes of its rule. */
export interface RouteLabel {
  readonly name: string;
  /** No rule or variant has it since then; absent while one does. */
  readonly unusedSinceMs?: number;
}

/** A label as near to a name as those that are taken allow: with `-2`, `-3`, … behind it. */
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
/** The name of scans that no rule or variant has led elsewhere. */
export const targetLabel = 'target';
export const reservedLabels: ReadonlySet<string> = new Set([targetLabel, ...missedReasons]);

/** Whether somebody came in vain, so that it is no scan. */
export const isMissed = (route: number): boolean => route >= firstMissed;

export const missedReasonOf = (route: number): MissedReason | undefined =>
  missedReasons[route - firstMissed];

/**
 * What scans of a code are shown under. A number that no label has any more, which only one without scans should lose, is
 * shown as the target. @param route 0 to 58
 */
export const labelOfRoute = (labels: readonly RouteLabel[], route: number): string =>
  labels[route - 1]?.name ?? targetLabel;

/** The number of a label in use. */
export function routeNumberOf(labels: readonly RouteLabel[], name: string): number {
  const at = labels.findIndex((label) => label.name === name);
  if (at === -1) throw new Error(`Cannot count route ${name}: it has no number, expected one`);
  return at + 1;
}
