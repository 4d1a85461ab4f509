/**
 * Compiles a code's record into its link: the target with UTM parameters and, where the target alone does not decide, a
 * program (program-layout.ts). It reads the record only, so a change and the repair of a damaged block make the same link.
 * The API validates the fields; a value that does not fit here is a defect.
 */
import type { QrCodeRecord } from '../../model/code.ts';
import { type RouteLabel, routeNumberOf, targetLabel } from '../../model/routing/labels.ts';
import {
  needsProgram,
  type RouteConditions,
  type RouteOutcome,
  type RouteVariant,
  type Routing,
  type TimeWindow,
} from '../../model/routing/routing.ts';
import { weekdays } from '../../model/day.ts';
import { Browser, countryNumber, Device, Os } from '../../model/scan.ts';
import {
  conditionKind,
  conditionShift,
  minutesPerDay,
  programBytesMax,
  programFlag,
  programVersion,
  programWord,
  rulesShift,
  wordRange,
} from './program-layout.ts';
import { withUtm } from './utm.ts';

export interface CompiledLink {
  readonly target: string;
  readonly program?: Uint8Array;
}

export type RoutedCode = Pick<QrCodeRecord, 'target' | 'shortCode' | 'routing'>;

/** A target of a code with its UTM parameters. @param label under which its scans count */
export function taggedTarget(
  { shortCode = '', routing }: RoutedCode,
  address: string,
  label: string,
): string {
  if (routing === undefined) return address;
  return withUtm(address, routing.utm, { slug: shortCode, label, campaign: routing.campaign });
}

export function compileLink(code: RoutedCode): CompiledLink {
  const { target, routing } = code;
  const own = taggedTarget(code, target, targetLabel);
  if (routing === undefined || !needsProgram(routing)) return { target: own };
  const tagged = (address: string, label: string): string => taggedTarget(code, address, label);
  return { target: own, program: new ProgramWriter(routing.labels, tagged).write(routing) };
}

class ProgramWriter {
  readonly #words: number[] = [];
  readonly #labels: readonly RouteLabel[];
  readonly #tagged: (address: string, label: string) => string;
  /** Texts by their key; `at` lists the words that refer to the text. */
  readonly #texts = new Map<string, { readonly bytes: Buffer; length: number; at: number[] }>();
  readonly #zones: Array<{ readonly word: number; readonly name: string }> = [];

  constructor(labels: readonly RouteLabel[], tagged: (address: string, label: string) => string) {
    this.#labels = labels;
    this.#tagged = tagged;
  }

  write(routing: Routing): Uint8Array {
    const { rules, split, startsAtMs = 0, fallbackUrl } = routing;
    const words = this.#words;
    words.push(headOf(routing), 0, startsAtMs % wordRange, Math.floor(startsAtMs / wordRange));
    const seed = Buffer.from(routing.seed, 'base64url');
    for (let at = 0; at < 16; at += 4) words.push(seed.readInt32LE(at));
    words.push(0, 0, 0);
    const outcomes: Array<() => void> = [];
    for (const rule of rules) {
      const at = words.length;
      words.push(0, 0);
      this.#conditions(rule.if);
      words[at] = words.length - at;
      outcomes.push(() => {
        words[at + 1] = this.#outcome(rule.then, rule.label);
      });
    }
    for (const add of outcomes) add();
    if (split !== undefined) words[programWord.otherwise] = this.#split(split);
    if (fallbackUrl !== undefined) this.#target(programWord.fallback, fallbackUrl);
    this.#writeZones();
    this.#writeTexts();
    words[programWord.words] = words.length;
    const bytes = Buffer.from(Int32Array.from(words).buffer);
    if (bytes.length > programBytesMax) {
      throw new Error(
        `Cannot make a program of ${bytes.length} bytes, expected at most ${programBytesMax}`,
      );
    }
    return bytes;
  }

  #conditions(conditions: RouteConditions): void {
    const { device, os, browser, country, language, time, date, query } = conditions;
    const add = (kind: number, behind: () => void): void => {
      const at = this.#words.push(0) - 1;
      behind();
      this.#words[at] = kind | ((this.#words.length - at - 1) << conditionShift);
    };
    const words = this.#words;
    if (device) add(conditionKind.device, () => words.push(bitsOf(device, Device)));
    if (os) add(conditionKind.os, () => words.push(bitsOf(os, Os)));
    if (browser) add(conditionKind.browser, () => words.push(bitsOf(browser, Browser)));
    if (country) add(conditionKind.country, () => words.push(...country.map(countryNumber)));
    if (language) {
      add(conditionKind.language, () => {
        for (const range of language) this.#text(range.toLowerCase());
      });
    }
    if (time) add(conditionKind.time, () => this.#time(time));
    if (date) {
      const bounds = [date.from, date.to].map((at) => (at === undefined ? 0 : Date.parse(at)));
      const halves = bounds.flatMap((ms) => [ms % wordRange, Math.floor(ms / wordRange)]);
      add(conditionKind.date, () => words.push(...halves));
    }
    if (query) {
      add(conditionKind.query, () => {
        for (const [name, value] of Object.entries(query)) {
          this.#text(name);
          if (value === '*') words.push(0);
          else this.#text(value);
        }
      });
    }
  }

  #time({ days = weekdays, from = '00:00', to = '24:00', timezone }: TimeWindow): void {
    const bits = days.reduce((sum, day) => sum | (1 << weekdays.indexOf(day)), 0);
    this.#words.push(bits, minuteOf(from), minuteOf(to));
    this.#zones.push({ word: this.#words.push(0) - 1, name: timezone });
  }

  #outcome(outcome: RouteOutcome, label: string): number {
    if ('split' in outcome) return this.#split(outcome.split);
    const at = this.#words.push(0, 0, routeNumberOf(this.#labels, label)) - 3;
    this.#target(at + 1, this.#tagged(outcome.target, label));
    return at;
  }

  #split(variants: readonly RouteVariant[]): number {
    const sum = variants.reduce((total, { weight }) => total + weight, 0);
    const at = this.#words.push(variants.length, sum) - 2;
    let upTo = 0;
    for (const { label, target, weight } of variants) {
      upTo += weight;
      const variant = this.#words.push(upTo, 0, routeNumberOf(this.#labels, label)) - 3;
      this.#target(variant + 1, this.#tagged(target, label));
    }
    return at;
  }

  #target(word: number, target: string): void {
    this.#refer(word, `target ${target}`, Buffer.from(target, 'latin1'), target.length);
  }

  #text(text: string): void {
    const word = this.#words.push(0) - 1;
    this.#refer(word, `text ${text}`, Buffer.from(text, 'utf16le'), text.length);
  }

  #refer(word: number, key: string, bytes: Buffer, length: number): void {
    const known = this.#texts.get(key);
    if (known === undefined) this.#texts.set(key, { bytes, length, at: [word] });
    else known.at.push(word);
  }

  #writeZones(): void {
    const zones = this.#zones;
    if (zones.length === 0) return;
    this.#words[programWord.zones] = this.#words.push(zones.length) - 1;
    for (const { word, name } of zones) {
      this.#words.push(word);
      this.#text(name);
    }
  }

  #writeTexts(): void {
    for (const { bytes, length, at } of this.#texts.values()) {
      const text = this.#words.push(length) - 1;
      for (const word of at) this.#words[word] = text;
      const padded = Buffer.alloc(Math.ceil(bytes.length / 4) * 4);
      bytes.copy(padded);
      for (let byte = 0; byte < padded.length; byte += 4) {
        this.#words.push(padded.readInt32LE(byte));
      }
    }
  }
}

const headOf = ({ paused, passQuery, rules }: Routing): number =>
  programVersion |
  (paused ? programFlag.paused : 0) |
  (passQuery ? programFlag.passQuery : 0) |
  (rules.length << rulesShift);

function bitsOf<Name extends string>(
  names: readonly Name[],
  numbers: Readonly<Record<Name, number>>,
): number {
  return names.reduce((bits, name) => bits | (1 << numbers[name]), 0);
}

function minuteOf(clock: string): number {
  const minute = Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3, 5));
  if (minute >= 0 && minute <= minutesPerDay) return minute;
  throw new Error(`Cannot read the time ${clock}, expected 00:00 to 24:00`);
}
