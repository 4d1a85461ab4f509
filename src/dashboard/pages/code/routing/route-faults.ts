/**
 * The errors of a failed save, each at its field. The API names rules by their index in the request; the user may have
 * moved them since, so they are found by key.
 */
import type { FieldFault } from '../../../client/problem.ts';
import type { RoutingDraft } from './route-draft.ts';

/** Fields shown in this part of the page, with all fields below them. */
const shownFields = /^(rules|split|utm|passQuery|startsAt|fallbackUrl)(\.|$)/;

export class RouteFaults {
  readonly #faults: readonly FieldFault[];
  readonly #paths = new Map<number, string>();

  /** @param sent the draft of the request */
  constructor(faults: readonly FieldFault[] = [], sent?: RoutingDraft) {
    this.#faults = faults;
    sent?.rules.forEach((rule, at) => {
      this.#paths.set(rule.key, `rules.${at}`);
      rule.split?.forEach(({ key }, no) => this.#paths.set(key, `rules.${at}.then.split.${no}`));
    });
    sent?.split?.forEach(({ key }, no) => this.#paths.set(key, `split.${no}`));
  }

  /** Error of a field of the code, or of a field in it. */
  under(path: string): string | undefined {
    const found = this.#faults.filter(
      (fault) => fault.path === path || fault.path.startsWith(`${path}.`),
    );
    return textOf(found);
  }

  /** Error of a field of the code itself. */
  at(path: string): string | undefined {
    return textOf(this.#faults.filter((fault) => fault.path === path));
  }

  /** Error of a field of a rule or variant, or of a field in it. */
  underKey(key: number, field: string): string | undefined {
    const path = this.#paths.get(key);
    return path === undefined ? undefined : this.under(`${path}.${field}`);
  }

  /** Error of a rule or variant itself, or of one of its fields. */
  atKey(key: number, field?: string): string | undefined {
    const path = this.#paths.get(key);
    if (path === undefined) return undefined;
    return this.at(field === undefined ? path : `${path}.${field}`);
  }

  /** Whether this rule has an error. */
  isFaulty(key: number): boolean {
    const path = this.#paths.get(key);
    return path !== undefined && this.under(path) !== undefined;
  }

  /** Whether the page shows all errors at fields. */
  get areShown(): boolean {
    return this.#faults.every(({ path }) => shownFields.test(path));
  }
}

const textOf = (faults: readonly FieldFault[]): string | undefined =>
  faults.length === 0 ? undefined : [...new Set(faults.map(({ message }) => message))].join('. ');
