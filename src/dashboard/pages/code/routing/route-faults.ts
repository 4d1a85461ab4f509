/**
 * The faults of a refused save, each at what it is about. The API names rules by their place in what was sent; after that
 * they may have been moved, so they are found by their key.
 */
import type { FieldFault } from '../../../client/problem.ts';
import type { RoutingDraft } from './route-draft.ts';

/** Fields that this part of the page shows: everything at or below them has a place there. */
const shownFields = /^(rules|split|utm|passQuery|startsAt|fallbackUrl)(\.|$)/;

export class RouteFaults {
  readonly #faults: readonly FieldFault[];
  readonly #paths = new Map<number, string>();

  /** @param sent what the faults are about */
  constructor(faults: readonly FieldFault[] = [], sent?: RoutingDraft) {
    this.#faults = faults;
    sent?.rules.forEach((rule, at) => {
      this.#paths.set(rule.key, `rules.${at}`);
      rule.split?.forEach(({ key }, no) => this.#paths.set(key, `rules.${at}.then.split.${no}`));
    });
    sent?.split?.forEach(({ key }, no) => this.#paths.set(key, `split.${no}`));
  }

  /** Of a field of the code, or of what is in it. */
  under(path: string): string | undefined {
    const found = this.#faults.filter(
      (fault) => fault.path === path || fault.path.startsWith(`${path}.`),
    );
    return textOf(found);
  }

  /** Of a field of the code as a whole. */
  at(path: string): string | undefined {
    return textOf(this.#faults.filter((fault) => fault.path === path));
  }

  /** Of a field of a rule or variant, or of what is in it. */
  underKey(key: number, field: string): string | undefined {
    const path = this.#paths.get(key);
    return path === undefined ? undefined : this.under(`${path}.${field}`);
  }

  /** Of a rule or variant as a whole, or of one of its fields as a whole. */
  atKey(key: number, field?: string): string | undefined {
    const path = this.#paths.get(key);
    if (path === undefined) return undefined;
    return this.at(field === undefined ? path : `${path}.${field}`);
  }

  /** Whether anything in this rule is at fault. */
  isFaulty(key: number): boolean {
    const path = this.#paths.get(key);
    return path !== undefined && this.under(path) !== undefined;
  }

  /** Whether all of them have a place. */
  get areShown(): boolean {
    return this.#faults.every(({ path }) => shownFields.test(path));
  }
}

const textOf = (faults: readonly FieldFault[]): string | undefined =>
  faults.length === 0 ? undefined : [...new Set(faults.map(({ message }) => message))].join('. ');
