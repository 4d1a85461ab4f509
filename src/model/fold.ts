/**
 * Text as it is compared: without accents, in one case. `Café`, `CAFÉ` and `cafe` are the same, and so are `Straße`
 * and `STRASSE`.
 *
 * Decomposed (NFKD), marks taken out, then lower, upper and lower case: ẞ, ß, SS, ss. Of the lower cases only sigma's goes
 * by what follows it: both are one, so that a part of a text is folded as it is inside of the whole.
 */
export function foldText(text: string): string {
  if (!beyondAscii.test(text)) return text.toLowerCase();
  const plain = text.normalize('NFKD').replace(marks, '');
  return plain.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}

const beyondAscii = /\P{ASCII}/u;
const marks = /\p{M}+/gu;
