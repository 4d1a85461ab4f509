/**
 * How many user agents a thread reads in full: a flood of invented ones costs at most a quarter of its look-ups 40 µs
 * each, 10 µs a scan; the others are read roughly (device.ts).
 */
const budgetLookups = 4_096;
const budgetReadings = 1_024;

export class ReadingBudget {
  #lookups = 0;
  #readings = 0;

  /** To be called for each look-up. */
  lookUp(): void {
    if (++this.#lookups < budgetLookups) return;
    this.#lookups = 0;
    this.#readings = 0;
  }

  /** Whether one more may be read in full. */
  take(): boolean {
    if (this.#readings === budgetReadings) return false;
    this.#readings++;
    return true;
  }
}
