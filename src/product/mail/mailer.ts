/**
 * Sends mail through the operator's SMTP server, by nodemailer.
 *
 * A mail is sent in the background, after its commit. After five tries with growing pauses the failure is logged without
 * the address, and the caller is notified. The queue is in memory: a stop loses waiting mails; invites can be sent again.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { createTransport, type Transporter } from 'nodemailer';
import type { Logger } from '../../platform/log.ts';

/** Pauses before the second try and later ones: a restarting server, then a longer absence. */
const pausesMs: readonly number[] = [1_000, 5_000, 30_000, 120_000];
/** Mails that wait or are in transit, about 10 KB each. */
const mailsMax = 1_000;
const connectionsMax = 2;
const stepMsMax = 10_000;

export interface MailSettings {
  readonly host: string;
  readonly port: number;
  /** TLS from the start; else STARTTLS. */
  readonly secure: boolean;
  /** Refuse a server that offers no TLS. */
  readonly requireTls: boolean;
  readonly user: string;
  readonly password: string;
  readonly from: string;
}

export interface Email {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly messageId?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class Mailer {
  readonly #transport: Transporter;
  readonly #from: string;
  readonly #log: Logger;
  readonly #pausesMs: readonly number[];
  #mails = 0;
  #isClosed = false;

  constructor(settings: MailSettings, log: Logger, pauses = pausesMs) {
    const { host, port, secure, requireTls, user, password, from } = settings;
    this.#transport = createTransport({
      host,
      port,
      secure,
      requireTLS: requireTls,
      pool: true,
      maxConnections: connectionsMax,
      connectionTimeout: stepMsMax,
      greetingTimeout: stepMsMax,
      socketTimeout: stepMsMax,
      disableFileAccess: true,
      disableUrlAccess: true,
      ...(user === '' ? {} : { auth: { user, pass: password } }),
    });
    this.#from = from;
    this.#log = log;
    this.#pausesMs = pauses;
  }

  /** Queues a mail. @param onFailed called once when the last try has failed @returns false if too many wait */
  send(email: Email, onFailed?: () => Promise<void>): boolean {
    if (this.#mails >= mailsMax) this.#log.error({ waiting: mailsMax }, 'mail refused');
    if (this.#isClosed || this.#mails >= mailsMax) return false;
    this.#mails += 1;
    void this.#sendOrRetry(email, onFailed).finally(() => (this.#mails -= 1));
    return true;
  }

  /** Sends it once. @param tries for the log @returns whether the server accepted it; the log has the reason if not */
  async sendOnce({ to, headers, ...email }: Email, tries?: number): Promise<boolean> {
    if (this.#isClosed) return false;
    // An object is one address; a string would be parsed as a list.
    const mail = { ...email, from: this.#from, to: { name: '', address: to } };
    try {
      await this.#transport.sendMail({ ...mail, headers: { ...headers } });
      return true;
    } catch (error) {
      if (!this.#isClosed) this.#log.warn({ code: codeOf(error), tries }, 'mail failed');
      return false;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#transport.close();
  }

  async #sendOrRetry(email: Email, onFailed?: () => Promise<void>): Promise<void> {
    for (const [at, pauseMs] of [0, ...this.#pausesMs].entries()) {
      await pause(pauseMs, undefined, { ref: false });
      if ((await this.sendOnce(email, at + 1)) || this.#isClosed) return;
    }
    this.#log.error({ tries: this.#pausesMs.length + 1 }, 'mail failed, given up');
    await onFailed?.().catch((err: unknown) => {
      this.#log.error({ err }, 'cannot note a failed mail');
    });
  }
}

/** The server's own message repeats the address: only the code is logged. */
const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
