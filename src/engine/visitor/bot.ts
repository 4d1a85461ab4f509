/**
 * Which requests do not come from a person: `isbot`'s list names crawlers, monitors and headless browsers, the lists here
 * link previews. Bots are recognized by name, not by shape: scanner apps open links with libraries, operators try them with
 * curl, and a person not counted is worse than a script that is.
 */
import { createIsbotFromList, list } from 'isbot';
import { BotReason } from '../../model/scan.ts';

/**
 * Fetchers of link previews, by parts of their user agents. An app sends one when a person posts or receives the link.
 * Crawlers of the same companies (Pinterestbot, Applebot, meta-externalagent) are bots.
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

/** Prefetches by user agent; most have a header (`Sec-Purpose`) instead. */
const prefetch = /Privacy Preserving Prefetch Proxy/i;

/** Patterns of `isbot` for the shape of an agent, or for a library. */
const unproven: readonly string[] = [
  String.raw`;\s\w+;$`,
  String.raw`\(\)`,
  String.raw`\b\w+/1\.0;`,
  String.raw`\|`, // also in what Alipay's pages send
  String.raw`^[<\(;]`,
  String.raw`^[\w \.\-\(?:\):%]+(?:/v?\d+(?:\.\d+)?(?:\.\d{1,10})*?)?(?:,|$)`,
  String.raw`^[\w\-]+/[\w]+$`,
  String.raw`^[^ ]{50,}$`,
  String.raw`^\d+\b`,
  String.raw`^\w+/[\w\(\)]*$`,
  String.raw`^\w+/\d\.\d\s\([\w@]+\)$`,
  String.raw`^mozilla/\d\.\d\s[\w\.-]+$`,
  String.raw`^mozilla/\d\.\d\s\((?:compatible;)?(?:\s?[\w\d-.]+[\s/]\d+\.\d+)?\)$`,
  String.raw`agent\b`,
  '(?<!cam)scan', // scanner apps are the visitors that count here
  '(?<!lib)http', // in its place below: an address, which crawlers give and libraries do not
  'url', // in its place below: not curl
  String.raw`\bperl\b`,
  '^apache/',
  '^client/',
  '^php',
  '^postman',
  '^python',
  '^wget',
  'java(?!;)',
  'library',
  String.raw`node\b`,
];
const isKnownBot = createIsbotFromList([
  ...list.filter((pattern) => !unproven.includes(pattern)),
  'https?:',
  '(?<!c)url',
]);

/** Why a user agent is not a person's; about 5 µs for up to 512 characters. */
export function botReasonOf(userAgent: string): BotReason {
  if (preview.test(userAgent)) return BotReason.preview;
  if (prefetch.test(userAgent)) return BotReason.prefetch;
  return isKnownBot(userAgent) ? BotReason.bot : BotReason.none;
}
