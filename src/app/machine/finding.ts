/** Findings of `quietzone doctor` and of a start. */
export interface DoctorFinding {
  /** warn: works, but is seldom intended. */
  readonly level: 'ok' | 'warn' | 'bad';
  readonly text: string;
}

export const good = (text: string): DoctorFinding => ({ level: 'ok', text });
export const warn = (text: string): DoctorFinding => ({ level: 'warn', text });
export const bad = (text: string): DoctorFinding => ({ level: 'bad', text });
