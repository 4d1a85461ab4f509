/**
 * Notifies listeners of a change without data; each listener reads the state itself. So two signals are as good as one,
 * and a listener that misses one sees the change at the next.
 */
export class Signal {
  readonly #listeners = new Set<() => void>();

  /** Calls all listeners, which must not throw. */
  fire(): void {
    for (const listener of this.#listeners) listener();
  }

  /** @returns stops listening */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  end(): void {
    this.#listeners.clear();
  }
}
