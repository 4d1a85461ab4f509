/**
 * Text as it is compared: without accents, in one case. `Café`, `CAFÉ` and `cafe` are the same, and so are `Straße`
 * and `STRASSE`.
 *
 * Decomposed (NFKD), marks removed, then lower, upper and lower case: ẞ, ß, SS, ss. The two small sigmas become one, so
 * that a word is folded alone as it is inside a longer text.
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

/** As long as a tag can be (64 UTF-16 units). Some letters fold to several, and a key of the index takes 255 bytes. */
const keyBytesMax = 192;
const utf8 = new TextEncoder();

/**
 * What a tag is compared by: tags are one when they differ by case, accents or spaces alone. The workspace keeps for
 * each key how it was first spelled, and what is written later takes that spelling.
 */
export function tagKey(tag: string): string {
  const folded = foldText(tag).replace(/\s+/g, ' ').trim();
  return folded === '' || utf8.encode(folded).length > keyBytesMax ? tag : folded;
}

/** Each tag once, as it is spelled first. */
export function distinctTags(tags: readonly string[]): string[] {
  const keys = tags.map(tagKey);
  return tags.filter((_, at) => keys.indexOf(keys[at] ?? '') === at);
}

/** How an e-mail is looked up: no spelling of one address is another user. */
export function foldEmail(email: string): string {
  return email.normalize('NFC').toLowerCase();
}
