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
import { Failure, messageOf } from '../model/failure.ts';
import type { Logger } from '../telemetry/log.ts';

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
/** After a role that could not be opened. */
const retryMs = 500;

export class LeaderLifecycle {
  readonly #options: LeaderLifecycleOptions;
  #open: ({ readonly name: Role } & OpenRole) | undefined;
  #changing: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** The process stops: no other role opens. */
  isClosed = false;

  constructor(options: LeaderLifecycleOptions) {
    this.#options = options;
  }

  get role(): Role | 'none' {
    return this.#open?.name ?? 'none';
  }

  /** Opens the role that is due; call it whenever that may have changed. Resolves when it is open, or is tried again. */
  async update(): Promise<void> {
    this.#stopRetry();
    this.#changing ??= this.#follow().finally(() => {
      this.#changing = undefined;
      // It may have become due between the last look and now.
      if (this.#isToChange && this.#retry === undefined) void this.update();
    });
    await this.#changing;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.#stopRetry();
    await this.#changing;
    try {
      if (this.#open !== undefined) await this.#close(this.#open);
    } catch (err) {
      if (!isRefused(err)) throw err;
      this.#options.log.warn({ reason: messageOf(err) }, 'this role did not close cleanly');
    }
  }

  async #follow(): Promise<void> {
    while (this.#isToChange) {
      const due = this.#due;
      try {
        await this.#change(due);
      } catch (err) {
        const reason = messageOf(err);
        this.#options.log.warn({ reason, role: due }, 'cannot change role, retrying');
        if (!this.isClosed) this.#retry = setTimeout(() => void this.update(), retryMs);
        return;
      }
    }
  }

  #stopRetry(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
  }

  get #isToChange(): boolean {
    return !this.isClosed && this.#due !== this.role;
  }

  get #due(): Role {
    return this.#options.isLeading() ? 'leading' : 'standby';
  }

  async #change(name: Role): Promise<void> {
    const { lead, standBy, onChanged, log } = this.#options;
    const former = this.#open;
    const opened = await (name === 'leading' ? lead() : standBy());
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
