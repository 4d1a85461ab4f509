/**
 * Sends mail through the operator's SMTP server, by nodemailer.
 *
 * A mail is sent in the background, after its commit: a few tries with growing pauses, then it is logged without its
 * address and the caller is notified. The queue is in memory: a stop loses waiting mails; invites can be sent again.
 */
import { createTransport, type Transporter } from 'nodemailer';
import type { Logger } from '../telemetry/log.ts';

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
  /** Called once when the last try has failed. */
  readonly onFailed: () => Promise<void>;
}

/** A mail that the caller retries. */
export interface SingleEmail extends Omit<Email, 'onFailed'> {
  readonly messageId: string;
  readonly headers: Readonly<Record<string, string>>;
}

export class Mailer {
  readonly #transport: Transporter;
  readonly #from: string;
  readonly #log: Logger;
  readonly #pausesMs: readonly number[];
  readonly #timers = new Set<NodeJS.Timeout>();
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

  /** Queues a mail. @returns false if too many wait */
  send(email: Email): boolean {
    if (this.#isClosed || this.#mails >= mailsMax) return false;
    this.#mails += 1;
    void this.#try(email, 0);
    return true;
  }

  /** Sends it once. @returns whether the server accepted it; the log has the reason if not */
  async sendOnce({ to, headers, ...email }: SingleEmail): Promise<boolean> {
    if (this.#isClosed) return false;
    const address = { name: '', address: to };
    try {
      await this.#transport.sendMail({
        ...email,
        from: this.#from,
        to: address,
        headers: { ...headers },
      });
      return true;
    } catch (error) {
      this.#log.warn({ code: codeOf(error) }, 'mail failed');
      return false;
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#transport.close();
  }

  async #try(email: Email, tried: number): Promise<void> {
    const { to, subject, text, html } = email;
    try {
      // An object is one address; a string would be parsed as a list.
      await this.#transport.sendMail({
        from: this.#from,
        to: { name: '', address: to },
        subject,
        text,
        html,
      });
      this.#mails -= 1;
    } catch (error) {
      if (!this.#isClosed) await this.#failed(email, tried, error);
    }
  }

  async #failed(email: Email, tried: number, error: unknown): Promise<void> {
    const pauseMs = this.#pausesMs[tried];
    const code = codeOf(error);
    if (pauseMs !== undefined) {
      this.#log.warn({ code, tries: tried + 1 }, 'mail failed, retrying');
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        void this.#try(email, tried + 1);
      }, pauseMs);
      timer.unref();
      this.#timers.add(timer);
      return;
    }
    this.#mails -= 1;
    this.#log.error({ code, tries: tried + 1 }, 'mail failed, given up');
    await email.onFailed().catch((err: unknown) => {
      this.#log.error({ err }, 'cannot note a failed mail');
    });
  }
}

/** The server's own message repeats the address: only the code is logged. */
const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
