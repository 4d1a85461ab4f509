/** What `quietzone doctor` says of a cluster, a line each. */
export interface ClusterFinding {
  readonly ok: boolean;
  readonly isWarning?: boolean;
  readonly text: string;
}

export const good = (text: string): ClusterFinding => ({ ok: true, text });
export const warn = (text: string): ClusterFinding => ({ ok: true, isWarning: true, text });
export const bad = (text: string): ClusterFinding => ({ ok: false, text });
