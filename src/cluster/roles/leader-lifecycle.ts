/**
 * The role of a core: it leads, with the services open, or it stands by, and its API port passes requests on to the
 * leader. It redirects and counts in both.
 *
 *     standby ──▶ leading: the services open, then the standby closes
 *        ▲           │
 *        └───────────┘  another core leads: the standby opens, then the services close
 *
 * One change at a time: the next one is decided when the last one has ended.
 */
import { Failure, messageOf } from '../../model/failure.ts';
import type { Logger } from '../../platform/log.ts';
import { Ticker } from '../../platform/ticker.ts';

export interface OpenRole {
  close(): Promise<void>;
}

type Role = 'leading' | 'standby';

export interface LeaderLifecycleOptions {
  readonly isLeading: () => boolean;
  /** Rejects if this machine no longer leads, or if something cannot be opened. */
  readonly lead: () => Promise<OpenRole>;
  readonly standBy: () => Promise<OpenRole>;
  /** Called when the former role has closed or was abandoned, and the machine continues in another one. */
  readonly onChanged: () => void;
  readonly log: Logger;
}

/**
 * A role that closes waits for its last writes, and each write waits for the log. Requests of the API end within 3 s, and so
 * do webhooks.
 */
const closeMsMax = 8_000;
/** After a role that could not be opened, and for a change that comes just when the last one ends. */
const retryMs = 500;

export class LeaderLifecycle {
  readonly #options: LeaderLifecycleOptions;
  readonly #ticker: Ticker;
  #open: ({ readonly name: Role } & OpenRole) | undefined;
  /** The last change was refused. The log has that once, from here: the ticker logs no refusals. */
  #isRefused = false;
  /** The process stops: no other role opens. */
  isClosed = false;

  constructor(options: LeaderLifecycleOptions) {
    this.#options = options;
    this.#ticker = new Ticker({
      everyMs: retryMs,
      run: () => this.#follow(),
      log: options.log,
      failed: 'cannot change role, retrying',
      resumed: 'the role can change again',
    });
  }

  get role(): Role | 'none' {
    return this.#open?.name ?? 'none';
  }

  /** Opens the role that is due; call it whenever that may have changed. Resolves when it is open, or is tried again. */
  update(): Promise<void> {
    return this.#ticker.runNow();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.#ticker.close();
    try {
      if (this.#open !== undefined) await this.#close(this.#open);
    } catch (err) {
      if (!isRefused(err)) throw err;
      this.#options.log.warn({ reason: messageOf(err) }, 'this role did not close cleanly');
    }
  }

  async #follow(): Promise<void> {
    const { isLeading } = this.#options;
    while (!this.isClosed) {
      const due = isLeading() ? 'leading' : 'standby';
      if (due === this.role) return;
      await this.#change(due);
    }
  }

  async #change(name: Role): Promise<void> {
    const { lead, standBy, onChanged, log } = this.#options;
    const former = this.#open;
    const opened = await (name === 'leading' ? lead() : standBy()).catch((err: unknown) => {
      if (isRefused(err) && !this.#isRefused) {
        log.warn({ role: name, reason: messageOf(err) }, 'cannot change role, retrying');
        this.#isRefused = true;
      }
      throw err;
    });
    this.#isRefused = false;
    this.#open = { name, close: () => opened.close() };
    log.info({ role: name }, name === 'leading' ? 'this machine leads' : 'this machine stands by');
    if (former === undefined) return;
    // A deposed leader cannot store the rest: the new one does.
    await this.#close(former).catch((err: unknown) => {
      log.warn({ reason: messageOf(err) }, 'the former role did not close cleanly');
    });
    if (!this.isClosed) onChanged();
  }

  /** @throws what closing it does, in time */
  async #close(role: OpenRole): Promise<void> {
    const closing = role.close().then(() => 'closed');
    const late = Promise.withResolvers<string>();
    const timer = setTimeout(() => late.resolve('late'), closeMsMax).unref();
    const end = await Promise.race([closing, late.promise]).finally(() => clearTimeout(timer));
    if (end === 'closed') return;
    closing.catch(() => undefined);
    this.#options.log.warn('closing the previous role timed out, continuing');
  }
}

/** What a leader without its lease still had to store: the next leader stores it. */
function isRefused(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isRefused);
  return error instanceof Failure && error.code === 'not_active';
}
