/**
 * JSON merge patch (RFC 7396) on plain JSON objects: null removes, objects merge, the rest replaces.
 * Results have no prototype tricks: keys are copied as own properties, `__proto__` among them.
 */
type Json = Readonly<Record<string, unknown>>;

export function mergePatch(target: Json, patch: Json): Json {
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

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
