/** The browser's clock: the only place in the dashboard that reads the time. */
export const now = (): number => Date.now();
