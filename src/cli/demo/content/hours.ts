/** How often things are scanned by hour and day, by the clock of where they are. Shares of a day: each list sums to about 1. */
export type Pattern = 'table' | 'lunch' | 'afternoon' | 'evening' | 'street';

/** From midnight on. */
export const hourShares: Readonly<Record<Pattern, readonly number[]>> = {
  table: [
    0.006, 0, 0, 0, 0, 0, 0, 0, 0, 0.004, 0.012, 0.05, 0.125, 0.115, 0.055, 0.025, 0.024, 0.045,
    0.105, 0.145, 0.135, 0.09, 0.046, 0.018,
  ],
  lunch: [
    0, 0, 0, 0, 0, 0, 0, 0, 0.005, 0.02, 0.06, 0.21, 0.34, 0.235, 0.09, 0.02, 0.008, 0.004, 0.004,
    0.002, 0.002, 0, 0, 0,
  ],
  afternoon: [
    0.002, 0, 0, 0, 0, 0, 0, 0, 0, 0.01, 0.03, 0.06, 0.095, 0.1, 0.105, 0.115, 0.12, 0.12, 0.095,
    0.07, 0.045, 0.022, 0.008, 0.003,
  ],
  evening: [
    0.012, 0.004, 0, 0, 0, 0, 0, 0, 0.002, 0.004, 0.008, 0.03, 0.06, 0.05, 0.025, 0.02, 0.03, 0.08,
    0.15, 0.18, 0.155, 0.105, 0.06, 0.025,
  ],
  street: [
    0.012, 0.006, 0.003, 0.001, 0.001, 0.004, 0.018, 0.05, 0.078, 0.058, 0.045, 0.05, 0.065, 0.06,
    0.05, 0.052, 0.066, 0.09, 0.088, 0.07, 0.055, 0.04, 0.025, 0.013,
  ],
};

/** From Monday on, beside an average day. */
export const weekdayFactors: Readonly<Record<Pattern, readonly number[]>> = {
  table: [0.78, 0.84, 0.92, 1.02, 1.28, 1.4, 1.02],
  lunch: [1.12, 1.22, 1.26, 1.22, 1.14, 0.5, 0.4],
  afternoon: [0.7, 0.75, 0.85, 0.95, 1.2, 1.6, 1.45],
  evening: [0.8, 0.85, 0.92, 1.04, 1.4, 1.34, 0.98],
  street: [1.02, 1.04, 1.04, 1.06, 1.12, 1.02, 0.76],
};
