/**
 * Follows a program (program-layout.ts) for one scan, straight from its words: it decodes nothing in advance, caches nothing
 * and allocates nothing. A fact about the visitor is looked up when the first rule asks for it.
 */
import {
  conditionKind,
  conditionShift,
  minutesPerDay,
  programFlag,
  programWord,
  rulesShift,
  unitOf,
  wordRange,
} from './program-layout.ts';

/** What rules ask about a scan. Device, os and browser are numbers of model/scan.ts. */
export interface RouteFacts {
  readonly nowMs: number;
  readonly device: number;
  readonly os: number;
  readonly browser: number;
  /** Two letters as one number. */
  readonly country: number;
  /** The preferred one in lower case, or empty. */
  readonly language: string;
  /** Alternating names and values of the short link's query, decoded. */
  readonly query: readonly string[];
  /** Local minutes since the epoch. @param zone the program's word that refers to the zone */
  localMinutes(zone: number): number;
  /** The visitor's point in a split: an unsigned 32-bit share of 2^32. @param seed index of the key's first word */
  splitPoint(words: Int32Array, seed: number): number;
}

/** Days from Monday to the day of the epoch, a Thursday. */
const epochWeekday = 3;

export class ProgramReader {
  #words: Int32Array = new Int32Array();
  #at = 0;
  /** Number of the route that `follow` chose (model/routing/labels.ts). */
  route = 0;
  /** Index of its target's text in `words`; 0 = the target of the link. */
  target = 0;

  open(words: Int32Array, at: number): void {
    this.#words = words;
    this.#at = at;
  }

  get words(): Int32Array {
    return this.#words;
  }
  get isPaused(): boolean {
    return (this.#words[this.#at]! & programFlag.paused) !== 0;
  }
  get passesQuery(): boolean {
    return (this.#words[this.#at]! & programFlag.passQuery) !== 0;
  }
  /** Epoch milliseconds; 0 = none. */
  get startsAtMs(): number {
    return this.#milliseconds(this.#at + programWord.startsAtMs);
  }
  /** Index of the fallback's text in `words`; 0 = none. */
  get fallback(): number {
    const text = this.#words[this.#at + programWord.fallback]!;
    return text === 0 ? 0 : this.#at + text;
  }

  /** Sets `route` and `target` for a person's scan. */
  follow(facts: RouteFacts): void {
    const words = this.#words;
    const at = this.#at;
    let rule = at + programWord.rules;
    for (let left = (words[at]! >>> rulesShift) & 0xff; left > 0; left--) {
      const end = rule + words[rule]!;
      if (this.#holds(rule + 2, end, facts)) return this.#choose(at + words[rule + 1]!, facts);
      rule = end;
    }
    const otherwise = words[at + programWord.otherwise]!;
    if (otherwise !== 0) return this.#choose(at + otherwise, facts);
    this.route = 0;
    this.target = 0;
  }

  #choose(outcome: number, facts: RouteFacts): void {
    const words = this.#words;
    let chosen = outcome;
    if (words[outcome] !== 0) {
      const share = facts.splitPoint(words, this.#at + programWord.seed) / wordRange;
      const point = share * words[outcome + 1]!;
      chosen = outcome + 2;
      while (words[chosen]! <= point) chosen += 3;
    }
    this.target = this.#at + words[chosen + 1]!;
    this.route = words[chosen + 2]!;
  }

  #holds(from: number, end: number, facts: RouteFacts): boolean {
    const words = this.#words;
    for (let at = from; at < end; at += 1 + (words[at]! >>> conditionShift)) {
      if (!this.#conditionHolds(at, facts)) return false;
    }
    return true;
  }

  #conditionHolds(at: number, facts: RouteFacts): boolean {
    const words = this.#words;
    const first = at + 1;
    switch (words[at]! & 0xff) {
      case conditionKind.device:
        return (words[first]! & (1 << facts.device)) !== 0;
      case conditionKind.os:
        return (words[first]! & (1 << facts.os)) !== 0;
      case conditionKind.browser:
        return (words[first]! & (1 << facts.browser)) !== 0;
      case conditionKind.country:
        return this.#hasCountry(at, facts.country);
      case conditionKind.language:
        return facts.language !== '' && this.#hasLanguage(at, facts.language);
      case conditionKind.time:
        return this.#isInTime(first, facts.localMinutes(words[first + 3]!));
      case conditionKind.date:
        return this.#isInDates(first, facts.nowMs);
      case conditionKind.query:
        return this.#hasQuery(at, facts.query);
      default:
        throw new Error(`Cannot follow a program: condition ${words[at]}, expected a known kind`);
    }
  }

  #hasCountry(at: number, country: number): boolean {
    const words = this.#words;
    const end = at + 1 + (words[at]! >>> conditionShift);
    for (let one = at + 1; one < end; one++) if (words[one] === country) return true;
    return false;
  }

  /** RFC 4647, 3.4: the range equals the language, or a prefix of its subtags. */
  #hasLanguage(at: number, language: string): boolean {
    const words = this.#words;
    const end = at + 1 + (words[at]! >>> conditionShift);
    for (let one = at + 1; one < end; one++) {
      const text = this.#at + words[one]!;
      const length = words[text]!;
      const isWhole = length === language.length || language.charCodeAt(length) === hyphen;
      if (isWhole && this.#startsWith(language, text, length)) return true;
    }
    return false;
  }

  #isInTime(at: number, localMinutes: number): boolean {
    const words = this.#words;
    const days = words[at]!;
    const from = words[at + 1]!;
    const to = words[at + 2]!;
    const day = Math.floor(localMinutes / minutesPerDay);
    const minute = localMinutes - day * minutesPerDay;
    const weekday = (((day + epochWeekday) % 7) + 7) % 7;
    const isOfToday = ((days >>> weekday) & 1) === 1;
    if (from < to) return isOfToday && minute >= from && minute < to;
    // The window spans midnight: its end belongs to the previous day.
    const isOfYesterday = ((days >>> ((weekday + 6) % 7)) & 1) === 1;
    return (isOfToday && minute >= from) || (isOfYesterday && minute < to);
  }

  #isInDates(at: number, nowMs: number): boolean {
    const from = this.#milliseconds(at);
    const to = this.#milliseconds(at + 2);
    return nowMs >= from && (to === 0 || nowMs < to);
  }

  #hasQuery(at: number, query: readonly string[]): boolean {
    const words = this.#words;
    const end = at + 1 + (words[at]! >>> conditionShift);
    for (let pair = at + 1; pair < end; pair += 2) {
      if (!this.#hasPair(words[pair]!, words[pair + 1]!, query)) return false;
    }
    return true;
  }

  #hasPair(name: number, value: number, query: readonly string[]): boolean {
    for (let at = 0; at < query.length; at += 2) {
      const isNamed = this.#isText(query[at]!, this.#at + name);
      if (isNamed && (value === 0 || this.#isText(query[at + 1]!, this.#at + value))) return true;
    }
    return false;
  }

  #isText(text: string, at: number): boolean {
    const length = this.#words[at]!;
    return length === text.length && this.#startsWith(text, at, length);
  }

  #startsWith(text: string, at: number, length: number): boolean {
    if (text.length < length) return false;
    const words = this.#words;
    const even = length & ~1;
    // Two units at once: rules may have hundreds of texts that differ only at their ends.
    for (let unit = 0; unit < even; unit += 2) {
      const two = text.charCodeAt(unit) | (text.charCodeAt(unit + 1) << 16);
      if (two !== words[at + 1 + (unit >>> 1)]) return false;
    }
    return even === length || text.charCodeAt(even) === unitOf(words, at + 1, even);
  }

  #milliseconds(at: number): number {
    return (this.#words[at]! >>> 0) + this.#words[at + 1]! * wordRange;
  }
}

const hyphen = '-'.charCodeAt(0);
