/**
 * A row of another tool's export, and how its values are read: names are compared without case, spaces, `_` and `-`; a
 * text cell may hold a number, a time, a list, or, in a table that was made of an API's answers, JSON.
 */

/** A row of an export: values under compared names. */
export type VendorRow = ReadonlyMap<string, unknown>;

const separators = /[|,;]/;

export function rowOf(row: Readonly<Record<string, unknown>>): VendorRow {
  return new Map(Object.entries(row).map(([name, value]) => [comparedName(name), value]));
}

export function comparedName(name: string): string {
  return name.toLowerCase().replace(/[\s_-]/g, '');
}

/** The object under this name; empty without one. */
export function within(row: VendorRow, name: string): VendorRow {
  return asRow(structure(row.get(name))) ?? new Map();
}

/** The objects of the list under this name; undefined when there is no list of objects. */
export function objects(row: VendorRow, name: string): readonly VendorRow[] | undefined {
  const list = structure(row.get(name));
  if (!Array.isArray(list)) return undefined;
  const rows = list.map(asRow);
  return rows.every((item) => item !== undefined) ? rows : undefined;
}

/** Whether something is there: no blank, `null`, or nothing at all. */
export function isGiven(row: VendorRow, name: string): boolean {
  const value = row.get(name) ?? '';
  return typeof value !== 'string' || !/^\s*(?:null)?\s*$/.test(value);
}

/** Whether an object is there. */
export const hasObject = (row: VendorRow, name: string): boolean =>
  asRow(structure(row.get(name))) !== undefined;

function asRow(value: unknown): VendorRow | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? rowOf({ ...value }) : undefined;
}

function structure(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** The first of these that is there. */
export function text(row: VendorRow, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = row.get(name);
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
    if (typeof value === 'number') return String(value);
  }
  return undefined;
}

export function whole(row: VendorRow, ...names: readonly string[]): number | undefined {
  const digits = text(row, ...names)?.replace(/[\s,.']/g, '');
  return digits !== undefined && /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
}

/** A list, or a text that separates its items; what tools put into a list may be an object with a name. */
export function list(row: VendorRow, name: string): string[] {
  const value = row.get(name);
  const items: unknown[] = Array.isArray(value) ? value : (text(row, name) ?? '').split(separators);
  return items.flatMap((item) => {
    const named: unknown =
      typeof item === 'object' && item !== null ? Reflect.get(item, 'name') : item;
    return typeof named === 'string' && named.trim() !== '' ? [named.trim()] : [];
  });
}

/** In the way ISO 8601 writes it; a time without a zone is taken as UTC. */
export function time(row: VendorRow, ...names: readonly string[]): string | undefined {
  const written = text(row, ...names);
  if (written === undefined) return undefined;
  const bare = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?$/.exec(written);
  const timeMs = Date.parse(bare === null ? written : `${bare[1] ?? ''}T${bare[2] ?? '00:00:00'}Z`);
  return Number.isNaN(timeMs) ? undefined : new Date(timeMs).toISOString();
}

/** A time that decides when the link works. One that cannot be read stays as it is, and is refused. */
export function boundary(row: VendorRow, name: string): string | undefined {
  return time(row, name) ?? text(row, name);
}

export function isTrue(value: unknown): boolean {
  return value === true || value === 1 || /^(true|t|1|yes)$/i.test(String(value));
}
