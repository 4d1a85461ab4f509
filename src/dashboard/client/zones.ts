/** Time zones, as the browser knows them. */

export const browserZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Some 400 names, and the browser asks the system for them. */
let known: readonly string[] | undefined;
export const allZones = (): readonly string[] =>
  (known ??= ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]);
