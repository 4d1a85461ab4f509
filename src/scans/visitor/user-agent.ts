/** Bounds of reading user agents. */

/** No real agent is longer; bounds each pattern's work and each cache's memory. */
export const userAgentCharactersMax = 512;

/** The first 512 characters, as a copy: a slice would keep the whole text alive as a cache's key. */
export function cutUserAgent(userAgent: string): string {
  if (userAgent.length <= userAgentCharactersMax) return userAgent;
  const text = userAgent.slice(0, userAgentCharactersMax);
  return Buffer.from(text, 'utf16le').toString('utf16le');
}

/**
 * A thread reads at most a quarter of its look-ups in full, so a flood of invented agents costs 10 µs a scan instead of 40.
 * It reads the others roughly (device.ts).
 */
const budgetLookups = 4_096;
const budgetReadings = 1_024;

export class ReadingBudget {
  #lookups = 0;
  #readings = 0;

  lookUp(): void {
    if (++this.#lookups < budgetLookups) return;
    this.#lookups = 0;
    this.#readings = 0;
  }

  take(): boolean {
    if (this.#readings === budgetReadings) return false;
    this.#readings++;
    return true;
  }
}
