/** Rules for hidden, direction-changing and blank text in targets, names, descriptions, tags and labels. */
import { Failure, type Fault } from './failure.ts';

/** Controls except tab, LF, CR; soft hyphen; zero-width and bidirectional characters; byte order mark; tags. */
export const hiddenCharacters =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;

/** Allowed: a joiner in an emoji or a word of a joining script, not next to ASCII, and the tags of a flag (Unicode TS 51). */
const joinedCharacters =
  // oxlint-disable-next-line no-control-regex
  /(?<=[^\u0000-\u007f\s\u200c\u200d])[\u200c\u200d](?=[^\u0000-\u007f\s\u200c\u200d])|(?<=\u{1f3f4})[\u{e0020}-\u{e007e}]{1,6}\u{e007f}/gu;
export const lineBreaking = /[\t\r\n]/;
export const hiddenFault = 'Control, invisible and direction-changing characters are not allowed';
/** U+2800 is the blank Braille pattern. */
const visible = /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cs}\u2800]/u;

export function lineFault(text: string): Omit<Fault, 'path'> | undefined {
  if (!visible.test(text)) {
    return { code: 'required', message: 'Expected at least one visible character' };
  }
  const rest = text.replace(joinedCharacters, '');
  if (lineBreaking.test(rest) || hiddenCharacters.test(rest) || !text.isWellFormed()) {
    return { code: 'invalid_format', message: hiddenFault };
  }
  return undefined;
}

export function assertLine(path: string, text: string): void {
  const fault = lineFault(text);
  if (fault === undefined) return;
  const faults = [{ path, ...fault }];
  throw new Failure('validation_failed', `Cannot use this ${path}: ${fault.message}`, { faults });
}

/** The text without what `lineFault` refuses, or empty. For titles of other tools. */
export function visibleLine(text: string): string {
  const kept = text.toWellFormed().replace(/[\t\r\n\p{Cc}\u2028\u2029]+/gu, ' ');
  const line = withoutHidden(kept).trim();
  return visible.test(line) ? line : '';
}

/** The text without hidden characters, on one line, cut to `lengthMax`. For paths in answers. */
export function shownText(text: string, lengthMax: number): string {
  const isLong = text.length > lengthMax;
  const shown = (isLong ? text.slice(0, lengthMax - 1) : text)
    .toWellFormed()
    .replace(everyHidden, '\ufffd');
  return isLong ? `${shown}…` : shown;
}

const everyHidden = new RegExp(`${hiddenCharacters.source}|[\\t\\r\\n]`, 'gu');

/** Keeps `joinedCharacters`. */
function withoutHidden(text: string): string {
  let line = '';
  let end = 0;
  for (const { index, 0: joined } of text.matchAll(joinedCharacters)) {
    line += text.slice(end, index).replace(everyHidden, '') + joined;
    end = index + joined.length;
  }
  return line + text.slice(end).replace(everyHidden, '');
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => entities[char] ?? char);
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
