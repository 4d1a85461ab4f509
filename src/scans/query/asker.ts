/** Who asks for numbers, can be told how far they are, and may leave before they are there. */
export class Asker {
  readonly #leaving = new AbortController();
  readonly left = this.#leaving.signal;
  /** The answer from raw scans that it waits for now, of which a share is done, 0 to 1. */
  waitsFor: { readonly share: number } | undefined;

  leave(): void {
    this.#leaving.abort(new Error('Cannot answer: who has asked has left'));
  }
}
