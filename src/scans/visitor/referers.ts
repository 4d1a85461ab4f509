/** The referers seen recently: a scan's one is found by its bytes, and is a string that was made before. */
import { type RecordText, textBytesMax } from '../record.ts';
import { RecentBytes } from './recent-bytes.ts';

/** 4,096 of 512 characters are 5 MB; the sites that lead to codes are few. */
const referersMax = 4_096;

export class Referers {
  readonly #recent = new RecentBytes<string>(referersMax, textBytesMax);

  get(referer: RecordText): string {
    const { view, from, length } = referer;
    if (length === 0) return '';
    if (length > textBytesMax) return referer.toString();
    const known = this.#recent.find(view, from, length);
    if (known !== undefined) return known;
    const text = referer.toString();
    this.#recent.keep(text);
    return text;
  }
}
