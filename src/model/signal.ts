/**
 * A signal: says that something happened, and each listener then reads the state itself. It carries no data,
 * so two at once are as good as one, and a listener that misses one sees the change at the next.
 */
export class Signal {
  readonly #listeners = new Set<() => void>();

  /** Calls all listeners, now; they must not throw. */
  fire(): void {
    for (const listener of this.#listeners) listener();
  }

  /** @returns stops listening */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Nobody listens any more, as what they would read is gone. */
  end(): void {
    this.#listeners.clear();
  }
}
