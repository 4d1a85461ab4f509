/**
 * The mails of the service: text and HTML with the same sentences and the same link. Names are user input: they are escaped
 * and have no line breaks in the subject. A name that contains an address is left out: mail programs would link it.
 */
import { isoTime } from '../../model/day.ts';
import type { MailedDigest } from '../../model/reports/report.ts';
import { escapeHtml, visibleLine } from '../../model/text.ts';
import type { Alert, IncidentRecord } from '../../model/watches/watch.ts';
import type { Email, Mailer } from './mailer.ts';

export interface Invitation {
  readonly to: string;
  readonly workspaceName: string;
  readonly inviterName: string;
  readonly role: string;
  readonly acceptUrl: string;
  readonly expiresAtMs: number;
  /** Called once when the last try has failed. */
  readonly onFailed: () => Promise<void>;
}

/** Asks the owner of a new address to confirm it. */
export interface AddressQuestion {
  readonly to: string;
  /** Name of the user. */
  readonly name: string;
  readonly confirmUrl: string;
  readonly expiresAtMs: number;
}

export class Emails {
  readonly #mailer: Mailer;

  constructor(mailer: Mailer) {
    this.#mailer = mailer;
  }

  /** Sends and retries in the background. @returns false when too many mails wait */
  invite(invitation: Invitation): boolean {
    const { to, role, acceptUrl, expiresAtMs, onFailed } = invitation;
    const by = withoutAddress(invitation.inviterName) ?? 'A member';
    const name = withoutAddress(invitation.workspaceName);
    const workspace = name === undefined ? 'a workspace' : `the workspace “${name}”`;
    const words: Words = {
      subject: `${by} invites you to ${name ?? workspace}`,
      sentence: `${by} invites you to ${workspace} on Quietzone, as ${role}.`,
      action: 'Accept the invite',
      end: `The link works once, until ${timeText(expiresAtMs)}. If you do not expect an invite, ignore this mail.`,
    };
    return this.#mailer.send({ to, ...email(words, acceptUrl) }, onFailed);
  }

  /** The same. The user can request a lost mail again. */
  confirmAddress({ to, name, confirmUrl, expiresAtMs }: AddressQuestion): boolean {
    const by = withoutAddress(name) ?? 'A person';
    const words: Words = {
      subject: 'Confirm your e-mail address',
      sentence: `${by} wants to sign in to Quietzone with this e-mail address.`,
      action: 'Confirm the address',
      end:
        `Sign in as before to open the link; it works once, until ${timeText(expiresAtMs)}. If you did not ` +
        'request this, ignore this mail.',
    };
    return this.#mailer.send({ to, ...email(words, confirmUrl) });
  }

  /** Informs the owner of an account about a change, at their previous address. */
  accountChanged(to: string, what: 'password' | 'e-mail address', url: string): boolean {
    const words: Words = {
      subject: `Your ${what} was changed`,
      sentence: `The ${what} of your account on Quietzone was changed.`,
      action: 'Open your profile',
      end: 'If this was not you, ask the operator of the service to restore your account.',
    };
    return this.#mailer.send({ to, ...email(words, url) });
  }

  /**
   * Sends it once; the caller retries. Mail programs can offer a button to unsubscribe (RFC 8058), and autoresponders stay
   * silent (RFC 3834).
   * @returns whether the mail server accepted it
   */
  async digest({ unsubscribeUrl, subject, ...mail }: MailedDigest): Promise<boolean> {
    const headers = {
      'List-Unsubscribe': `<${unsubscribeUrl}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Auto-Submitted': 'auto-generated',
    };
    return await this.#mailer.sendOnce({ ...mail, subject: visibleLine(subject), headers });
  }

  /** The same. The dashboard also shows the alert. */
  alert({ to, workspaceName, incident, what, url }: Alert): boolean {
    const words: Words = {
      ...alertWords(incident, what),
      action: 'Open it in Quietzone',
      end: `Sent because this alert is on in the workspace “${workspaceName}”. Turn it off under Settings, Alerts.`,
    };
    return this.#mailer.send({ to, ...email(words, url) });
  }
}

const hasAddress = /@|:\/\/|[\p{L}\p{N}-][.。．｡]\p{L}{2,}/u;

const withoutAddress = (name: string): string | undefined =>
  hasAddress.test(name) ? undefined : name;

interface Words {
  readonly subject: string;
  readonly sentence: string;
  /** Text of the link. */
  readonly action: string;
  readonly end: string;
}

function email(words: Words, url: string): Pick<Email, 'subject' | 'text' | 'html'> {
  const text = `${words.sentence}\n\n${words.action}:\n${url}\n\n${words.end}\n`;
  const html = `<!doctype html>
<html lang="en"><body style="margin:0;padding:32px;background:#f4f6f5;font-family:system-ui,sans-serif;color:#17211e">
<div style="max-width:480px;margin:0 auto;padding:32px;background:#ffffff;border-radius:12px">
<p style="margin:0 0 24px;font-size:16px;line-height:1.5">${escapeHtml(words.sentence)}</p>
<p style="margin:0 0 24px"><a href="${escapeHtml(url)}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:#0f6b5c;color:#ffffff;text-decoration:none">${escapeHtml(words.action)}</a></p>
<p style="margin:0 0 24px;font-size:13px;line-height:1.5;word-break:break-all">${escapeHtml(url)}</p>
<p style="margin:0;font-size:13px;line-height:1.5;color:#52605b">${escapeHtml(words.end)}</p>
</div></body></html>
`;
  return { subject: visibleLine(words.subject), text, html };
}

const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** The subject and the sentence of a mail about an incident, with numbers, in UTC like the API. */
function alertWords(
  incident: IncidentRecord,
  what: 'begun' | 'ended',
): Pick<Words, 'subject' | 'sentence'> {
  const { kind, name, sinceMs, hours = 0, expected = 0, seen = 0, url = '' } = incident;
  const of = `“${name}”`;
  const since = timeText(sinceMs);
  if (kind === 'silent') {
    return {
      subject: `No scans: ${name}`,
      sentence: `${of} has had no scans for ${hours} hours, since ${since}. Usually it has ${numbers.format(expected)}.`,
    };
  }
  if (kind === 'spiking') {
    return {
      subject: `Unusually many scans: ${name}`,
      sentence:
        `${of} had ${numbers.format(seen)} scans in the hour from ${since}. Usually it has ` +
        `${numbers.format(expected)} in this hour of the week.`,
    };
  }
  if (what === 'ended') {
    return {
      subject: `Destination works again: ${name}`,
      sentence: `${url}, a destination of ${of}, works again. It failed since ${since}.`,
    };
  }
  return {
    subject: `Destination fails: ${name}`,
    sentence: `${url}, a destination of ${of}, ${faultText(incident)}. It failed twice, first at ${since}.`,
  };
}

const faultTexts: Readonly<Record<string, string>> = {
  timeout: 'does not answer within 10 seconds',
  dns: 'has an unknown host name',
  connect: 'does not accept connections',
  tls: 'has an invalid certificate',
  reset: 'closes the connection without an answer',
  protocol: 'sends an invalid HTTP answer',
};

const faultText = ({ fault = 'unknown', status }: IncidentRecord): string =>
  status === undefined ? (faultTexts[fault] ?? 'fails') : `answers with status ${status}`;

/** `2026-11-26 14:03 UTC` */
const timeText = (timeMs: number): string =>
  `${isoTime(timeMs).slice(0, 16).replace('T', ' ')} UTC`;
