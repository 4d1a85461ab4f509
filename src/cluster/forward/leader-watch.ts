/**
 * Requests that wait for a leader, and are told when another machine has led for a moment. A machine that stands still, or
 * is cut off, keeps its connections: without this a client would wait for a minute, while another one leads within seconds.
 *
 * The moment is for a leader that gives the lead away, and answers what it has begun.
 */
const watchMs = 100;

interface Watched {
  readonly origin: string;
  readonly onChanged: () => void;
  /** Checks in a row that saw another leader. */
  checks: number;
}

export class LeaderWatch {
  readonly #leader: () => string | undefined;
  readonly #checksMax: number;
  readonly #watched = new Set<Watched>();
  #timer: NodeJS.Timeout | undefined;

  /** @param leader the origin of its address; undefined: this machine, or none is known */
  constructor(leader: () => string | undefined, graceMs: number) {
    this.#leader = leader;
    this.#checksMax = Math.ceil(graceMs / watchMs);
  }

  /** @param onChanged called once at most @returns ends it */
  add(origin: string, onChanged: () => void): () => void {
    const watched = { origin, onChanged, checks: 0 };
    this.#watched.add(watched);
    this.#timer ??= setInterval(() => this.#check(), watchMs).unref();
    return () => this.#delete(watched);
  }

  close(): void {
    for (const watched of this.#watched) this.#delete(watched);
  }

  #delete(watched: Watched): void {
    this.#watched.delete(watched);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #check(): void {
    const now = this.#leader();
    for (const watched of this.#watched) {
      watched.checks = watched.origin === now ? 0 : watched.checks + 1;
      if (watched.checks <= this.#checksMax) continue;
      this.#delete(watched);
      watched.onChanged();
    }
  }
}
