/**
 * A signal: somebody says that something happened, whoever listens looks for itself. It carries nothing,
 * so two at once are as good as one, and a listener that misses one finds the news at the next.
 */
export class Signal {
  readonly #listeners = new Set<() => void>();

  /** Calls all listeners, now; they must not throw. */
  fire(): void {
    for (const listener of this.#listeners) listener();
  }

  /** @returns ends it */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
