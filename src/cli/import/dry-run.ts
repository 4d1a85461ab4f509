/** An import that stores nothing and says which rows would fail; in place of CodeImport. */
import { type ImportDraft, type OnRow, recordAfter } from '../../codes/bulk/code-import.ts';
import type { Codes } from '../../codes/codes.ts';
import type { CodeDraft } from '../../codes/code-creation.ts';
import { foldShortCode } from '../../model/code.ts';
import { Failure } from '../../model/failure.ts';
import type { ImportRecord } from '../../store/management/product-tables.ts';

export class DryRun {
  readonly #codes: Codes;
  /** Slugs of the rows so far, by their folded form. */
  readonly #slugs = new Map<string, string>();
  #record: ImportRecord = { rows: 0, created: 0, partial: 0, skipped: 0, startedAtMs: 0 };

  constructor(codes: Codes) {
    this.#codes = codes;
  }

  get record(): ImportRecord {
    return this.#record;
  }

  async batch(drafts: readonly ImportDraft[], onRow: OnRow): Promise<void> {
    const outcomes = drafts.flatMap(({ codes }) => codes.map((code) => this.#failureOf(code)));
    this.#record = recordAfter(this.#record, drafts, outcomes, onRow);
    await Promise.resolve();
  }

  async finish(): Promise<void> {
    await Promise.resolve();
  }

  /** The slug of an earlier row that looks up the same as this one. */
  holderOf(slug: string): string | undefined {
    return this.#slugs.get(foldShortCode(slug));
  }

  #failureOf(draft: CodeDraft | Failure): Failure | undefined {
    if (draft instanceof Failure) return draft;
    const failure = this.#codes.faultOf(draft);
    const { slug } = draft;
    if (failure !== undefined || slug === undefined) return failure;
    if (this.#slugs.has(foldShortCode(slug))) return slugTaken('An earlier row has this slug');
    this.#slugs.set(foldShortCode(slug), slug);
    return undefined;
  }
}

function slugTaken(message: string): Failure {
  const faults = [{ path: 'slug', code: 'slug_taken', message }];
  return new Failure('slug_taken', message, { faults });
}
