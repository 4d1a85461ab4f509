/**
 * JSON merge patch (RFC 7396) on plain JSON objects: null removes, objects merge, the rest replaces.
 * Results have no prototype tricks: keys are copied as own properties, `__proto__` among them.
 */
export function mergePatch<T extends object>(target: T, patch: object): T;
export function mergePatch(target: object, patch: object): object {
  const merged = new Map(Object.entries(target));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) {
      merged.delete(key);
    } else if (isObject(value)) {
      const below = merged.get(key);
      merged.set(key, mergePatch(isObject(below) ? below : {}, value));
    } else {
      merged.set(key, value);
    }
  }
  return Object.fromEntries(merged);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
