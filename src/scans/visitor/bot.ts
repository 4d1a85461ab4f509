/**
 * Which requests are not a person's: `isbot` knows that a user agent is a program's (crawlers, monitors,
 * libraries, headless browsers); the lists here say which of these only draw a card of the link.
 *
 * An empty user agent is nobody's proof: it is a person until something else says so.
 */
import { isbot } from 'isbot';
import { BotReason } from '../../model/scan.ts';
import { Recent } from './recent.ts';
import { cutUserAgent } from './user-agent.ts';

/**
 * Fetchers of link previews, by what their user agents contain. Each is sent by an app because a person
 * posted or received the link: it says that the link travels, not that anybody opened it. Crawlers
 * of the same companies (Pinterestbot, Applebot, meta-externalagent) are bots like any other.
 */
const previewFetchers: readonly string[] = [
  'facebookexternalhit', // Facebook, Messenger, Instagram; imitated by iMessage, LINE and KakaoTalk
  'Facebot',
  'Twitterbot',
  'TelegramBot',
  'Slackbot-LinkExpanding',
  'Slack-ImgProxy',
  'Discordbot',
  'LinkedInBot',
  'SkypeUriPreview', // Skype, Teams, Outlook
  'MicrosoftPreview',
  'BingPreview',
  'Snap URL Preview',
  'redditbot',
  'vkShare',
  'Viber',
  'kakaotalk-scrap',
  'Mastodon/',
  'Bluesky Cardyb',
  'Iframely',
  'Embedly',
  'XING-contenttabreceiver',
  'ZaloPC-Preview',
  'Google-PageRenderer', // Google Messages
];
const preview = new RegExp(
  `^WhatsApp/|${previewFetchers.map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')}`,
  'i',
);

/** Fetches before anyone asked, told by the user agent; most are told by a header (`Sec-Purpose`) instead. */
const prefetch = /Privacy Preserving Prefetch Proxy/i;

/** People whom `isbot` takes for programs: Alipay's pages carry a "|", which it reads as a sign of a script. */
const person = /\bAlipayClient\//;

/** Why a user agent is not a person's; about 5 µs for up to 512 characters. */
export function botReasonOf(userAgent: string): BotReason {
  if (preview.test(userAgent)) return BotReason.preview;
  if (prefetch.test(userAgent)) return BotReason.prefetch;
  return isbot(userAgent) && !person.test(userAgent) ? BotReason.bot : BotReason.none;
}

/** 8,192 agents of 512 characters are 5 MB in a redirect thread. */
const agentsMax = 8_192;

/**
 * Bot reasons of the agents seen lately, for the redirect threads, which need to know only whether a
 * request uses up one of a limited code's scans: 0.1 µs an agent seen lately, 5 µs a new one.
 */
export class BotReasons {
  readonly #reasons = new Recent<string, BotReason>(agentsMax);

  get(userAgent: string): BotReason {
    const text = cutUserAgent(userAgent);
    const known = this.#reasons.find(text);
    if (known !== undefined) return known;
    const reason = botReasonOf(text);
    this.#reasons.keep(text, reason);
    return reason;
  }
}
