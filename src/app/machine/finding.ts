/** What `quietzone doctor` and a start find. */
export interface DoctorFinding {
  /** warn: it runs as it is, but is seldom meant so. */
  readonly level: 'ok' | 'warn' | 'bad';
  readonly text: string;
}

export const good = (text: string): DoctorFinding => ({ level: 'ok', text });
export const warn = (text: string): DoctorFinding => ({ level: 'warn', text });
export const bad = (text: string): DoctorFinding => ({ level: 'bad', text });
