/**
 * Targets that prove where they come from: key, version and a checksum over both and a padding whose
 * length changes with every version. A torn or reused entry cannot pass.
 */
export interface Tagged {
  readonly key: number;
  readonly version: number;
}

/** Never 8 characters: one key must not be another's look-alike. */
export function keyText(key: number): string {
  return `K${key
    .toString(36)
    .toUpperCase()
    .padStart(key % 3 === 0 ? 11 : 8, '0')}`;
}

export function tagTarget({ key, version }: Tagged): string {
  const body = `https://t.example/${key}/${version}/${'x'.repeat((version * 37 + key * 11) % 200)}`;
  return `${body}/${checksum(body)}`;
}

/** @throws Error when the bytes are not exactly what `tagTarget` makes */
export function parseTarget(text: string): Tagged {
  const [key, version] = text.slice('https://t.example/'.length).split('/').map(Number);
  const tagged = { key: key ?? -1, version: version ?? -1 };
  if (!(tagged.version >= 0) || tagTarget(tagged) !== text) throw new Error(`Torn target: ${text}`);
  return tagged;
}

export function expiryOf(version: number): number {
  return version % 3 === 0 ? 1_700_000_000_000 + version : 0;
}

function checksum(text: string): number {
  let sum = 17;
  for (let i = 0; i < text.length; i += 1) sum = (Math.imul(sum, 31) + text.charCodeAt(i)) >>> 0;
  return sum;
}
