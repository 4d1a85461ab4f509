/**
 * The searched fields of a code, as one text:
 *
 *   id NUL target NUL name NUL short code NUL external id      folded (model/fold.ts)
 *
 * NUL separates the fields. No word of a search contains it, so no match spans two fields. It is neither a letter nor a
 * mark, so all fields are folded at once.
 */
import { foldText } from '../../../model/fold.ts';
import { type PackedCode, packedField } from '../../../store/management/code-codec.ts';

/** `qr_` and 20 characters. */
const idLength = 23;
const { id, target, name, shortCode, externalId } = packedField;
const searched = [id, target, name, shortCode, externalId];

export function searchText(packed: PackedCode): string {
  return foldText(searched.map((at) => packed[at]).join('\0'));
}

/** An id is searched as an id, from its beginning: its letters mean nothing, and short words would be in many. */
export function hasWord(text: string, word: string): boolean {
  return text.includes(word, idLength) || (word.startsWith('qr_') && text.startsWith(word));
}

/** The words of a search, folded, the longest first: fewer codes have it. */
export function searchWords(search: string): string[] {
  const words = new Set(foldText(search).split(/[\s\0]+/));
  words.delete('');
  return [...words].sort((one, other) => other.length - one.length);
}
