/** Which scans are asked for, in the words of breakdowns; all that are given must hold. */
export interface ScanFilter {
  /** `DE`; `ZZ` = unknown. */
  readonly country?: string;
  /** "Chicago, US"; empty = unknown. */
  readonly city?: string;
  readonly device?: string;
  readonly os?: string;
  readonly browser?: string;
  /** Its host without `www.`; empty = without a referer. */
  readonly referer?: string;
  /** Numbers of labels of one code, 0 = its target (model/routing/labels.ts). */
  readonly routes?: readonly number[];
}
