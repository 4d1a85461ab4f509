/**
 * The mail of an invite: text and HTML with the same sentences and the same link. Names come from people:
 * they are escaped, and have no line breaks in the subject.
 */
import { isoTime } from '../model/day.ts';
import type { Letter, Mailer } from './mailer.ts';

export interface Invitation {
  readonly to: string;
  readonly workspaceName: string;
  readonly invitedBy: string;
  readonly role: string;
  readonly acceptUrl: string;
  readonly expiresAtMs: number;
  /** Called once when the last try has failed. */
  readonly onFailed: () => Promise<void>;
}

export class InviteMailer {
  readonly #mailer: Mailer;

  constructor(mailer: Mailer) {
    this.#mailer = mailer;
  }

  /** Sends and retries in the background. @returns false when too many mails wait */
  send(invitation: Invitation): boolean {
    return this.#mailer.send(inviteLetter(invitation));
  }
}

function inviteLetter(invitation: Invitation): Letter {
  const { to, workspaceName, invitedBy, role, acceptUrl, expiresAtMs, onFailed } = invitation;
  const until = `${isoTime(expiresAtMs).slice(0, 16).replace('T', ' ')} UTC`;
  const words = {
    subject: oneLine(`${invitedBy} invites you to ${workspaceName}`),
    sentence: `${invitedBy} invites you to the workspace “${workspaceName}” on Quietzone, as ${role}.`,
    end: `The link works once, until ${until}. If you expected no invite, do nothing.`,
  };
  const text = `${words.sentence}\n\nAccept the invite:\n${acceptUrl}\n\n${words.end}\n`;
  const html = `<!doctype html>
<html lang="en"><body style="margin:0;padding:32px;background:#f4f6f5;font-family:system-ui,sans-serif;color:#17211e">
<div style="max-width:480px;margin:0 auto;padding:32px;background:#ffffff;border-radius:12px">
<p style="margin:0 0 24px;font-size:16px;line-height:1.5">${escapeHtml(words.sentence)}</p>
<p style="margin:0 0 24px"><a href="${escapeHtml(acceptUrl)}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:#0f6b5c;color:#ffffff;text-decoration:none">Accept the invite</a></p>
<p style="margin:0 0 24px;font-size:13px;line-height:1.5;word-break:break-all">${escapeHtml(acceptUrl)}</p>
<p style="margin:0;font-size:13px;line-height:1.5;color:#52605b">${escapeHtml(words.end)}</p>
</div></body></html>
`;
  return { to, subject: words.subject, text, html, onFailed };
}

const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ');

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (char) => entities[char] ?? char);
