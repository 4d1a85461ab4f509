/** Choices stored in this browser. If storage is forbidden, a choice lasts as long as the tab. */

export function readChoice(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

export function storeChoice(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // The tab keeps it.
  }
}
