/**
 * Folds text for comparison, without accents and case: `Café`, `CAFÉ` and `cafe` are equal, and so are `Straße` and `STRASSE`
 * (lower, upper and lower case in turn). The final sigma becomes the other one, so a word folds the same in a longer text.
 */
export function foldText(text: string): string {
  if (!beyondAscii.test(text)) return text.toLowerCase();
  return withoutAccents(text).toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}

export function withoutAccents(text: string): string {
  return text.normalize('NFKD').replace(marks, '');
}

const beyondAscii = /\P{ASCII}/u;
const marks = /\p{M}+/gu;

/** Enough for 64 UTF-16 units of a tag. Some letters fold to several, and a key of the index takes 255 bytes. */
const keyBytesMax = 192;
const utf8 = new TextEncoder();

/** The identity of a tag, without case, accents and repeated spaces. The workspace uses the first spelling for all codes. */
export function tagKey(tag: string): string {
  const folded = foldText(tag).replace(/\s+/g, ' ').trim();
  return folded === '' || utf8.encode(folded).length > keyBytesMax ? tag : folded;
}

export function distinctTags(tags: readonly string[]): string[] {
  const keys = tags.map(tagKey);
  return tags.filter((_, at) => keys.indexOf(keys[at] ?? '') === at);
}

/** The key of an e-mail address: all spellings of an address are one user. */
export function foldEmail(email: string): string {
  return email.normalize('NFC').toLowerCase();
}
