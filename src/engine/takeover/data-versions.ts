/** Whether two releases can have one data folder at a time: only where both write the same versions of its stores. */
import type { DataVersions } from './messages.ts';

const storeNames = ['management', 'scans', 'delivery'] as const;

/** @returns why a takeover is refused, as the end of "Cannot take over: …" */
export function versionRefusal(own: DataVersions, theirs: DataVersions): string | undefined {
  const changes = storeNames.filter((name) => own[name] !== theirs[name]);
  if (changes.length === 0) return undefined;
  const text = changes
    .map((name) => `${name}.mdb from version ${own[name]} to ${theirs[name]}`)
    .join(', ');
  return changes.every((name) => theirs[name] >= own[name])
    ? `this release would convert the data (${text}), which the running one could not follow; stop it, then start this one`
    : `this release is older than the data of the running one, and would need it converted back (${text}); restore a backup of its time`;
}
