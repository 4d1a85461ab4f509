/** Collects the rules of one imported link: their labels, their bounds and their faults. */
import type { Fault } from '../../../../model/failure.ts';
import {
  freeLabel,
  labelLengthMax,
  labelPattern,
  reservedLabels,
} from '../../../../model/routing/labels.ts';
import {
  type RouteConditions,
  type RouteOutcome,
  type RouteRule,
  rulesMax,
} from '../../../../model/routing/routing.ts';

export class RuleList {
  readonly #labels = new Set(reservedLabels);
  readonly #rules: RouteRule[] = [];
  readonly #faults: Fault[] = [];

  /** @param words what the rule is about, `['android', 'en-US']`: its label is made of them */
  add(words: readonly string[], conditions: RouteConditions, outcome: RouteOutcome): void {
    this.#rules.push({ label: this.label(words), if: conditions, then: outcome });
  }

  refuse(path: string, code: string, message: string): void {
    this.#faults.push({ path, code, message });
  }

  /** A label that no rule or variant of the link has yet; it is taken from here on. */
  label(words: readonly string[]): string {
    const label = freeLabel(labelOf(words), this.#labels);
    this.#labels.add(label);
    return label;
  }

  /**
   * For a link of a tool. The bound of targets needs no look: 20 rules, of which at most one is a split of 8, have
   * fewer than 28.
   */
  get found(): { readonly rules: readonly RouteRule[]; readonly faults: readonly Fault[] } {
    const count = this.#rules.length;
    const message = `The link has ${count} rules, a QR code takes at most ${rulesMax}`;
    const tooMany = count > rulesMax ? [{ path: 'rules', code: 'too_many', message }] : [];
    return { rules: this.#rules, faults: [...this.#faults, ...tooMany] };
  }
}

/** All words where they fit, else the first and how many more there are. */
function labelOf(words: readonly string[]): string {
  const slugs = words.map(slugOf).filter((slug) => slug !== '');
  const whole = slugs.join('-');
  if (labelPattern.test(whole)) return whole;
  const [first = 'rule', ...others] = slugs;
  const more = others.length === 0 ? '' : `-and-${others.length}-more`;
  return first.slice(0, labelLengthMax - more.length) + more;
}

const slugOf = (word: string): string =>
  word
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
