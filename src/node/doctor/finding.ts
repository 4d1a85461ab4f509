/** A line of `quietzone doctor`. */
export interface DoctorFinding {
  readonly ok: boolean;
  /** It runs as it is, but is seldom meant so. */
  readonly isWarning?: boolean;
  readonly text: string;
}

export const good = (text: string): DoctorFinding => ({ ok: true, text });
export const warn = (text: string): DoctorFinding => ({ ok: true, isWarning: true, text });
export const bad = (text: string): DoctorFinding => ({ ok: false, text });
