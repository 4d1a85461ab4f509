/** The browser's clock: the only file in the dashboard that reads the time. */
export const now = (): number => Date.now();
