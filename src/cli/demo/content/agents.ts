/** What visitors of the demo scan with, as their programs name themselves; the shares of a restaurant's guests. */
import { Weighted } from '../random.ts';

const webKit = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';
const blink = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const safari = (system: string, version: string, device = 'iPhone'): string =>
  `Mozilla/5.0 (${device}; CPU ${system} like Mac OS X) ${webKit} Version/${version} Mobile/15E148 Safari/604.1`;
const chromeOnAndroid = (version: number): string =>
  `Mozilla/5.0 (Linux; Android 10; K) ${blink} Chrome/${version}.0.0.0 Mobile Safari/537.36`;

export const people = new Weighted<string>([
  [safari('iPhone OS 18_5', '18.5'), 22],
  [safari('iPhone OS 18_3_2', '18.3.1'), 9],
  [safari('iPhone OS 17_6_1', '17.6'), 8],
  [safari('iPhone OS 16_7_10', '16.6'), 3],
  [
    `Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) ${webKit} CriOS/137.0.7151.79 Mobile/15E148 Safari/604.1`,
    3,
  ],
  [
    `Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) ${webKit} Mobile/15E148 Instagram 385.0.0.37.76 (iPhone15,2; iOS 18_5; de_DE; de; scale=3.00; 1179x2556; 742021463)`,
    3,
  ],
  [safari('OS 17_6', '17.6', 'iPad'), 2],
  [chromeOnAndroid(137), 16],
  [chromeOnAndroid(136), 8],
  [chromeOnAndroid(131), 4],
  [
    `Mozilla/5.0 (Linux; Android 15; SM-S928B) ${blink} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36`,
    7,
  ],
  [
    `Mozilla/5.0 (Linux; Android 14; SM-A546B) ${blink} SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36`,
    3,
  ],
  ['Mozilla/5.0 (Android 15; Mobile; rv:139.0) Gecko/139.0 Firefox/139.0', 2],
  [
    `Mozilla/5.0 (Linux; Android 14; 23127PN0CG) ${blink} Version/4.0 Chrome/112.0.5615.136 Mobile Safari/537.36 XiaoMi/MiuiBrowser/14.23.0-gn`,
    1.5,
  ],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${blink} Chrome/137.0.0.0 Safari/537.36 Edg/137.0.0.0`,
    1.5,
  ],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${blink} Chrome/137.0.0.0 Safari/537.36`, 2],
  [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webKit} Version/18.5 Safari/605.1.15`, 1.8],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0', 0.4],
]);

/** Those who are no people: crawlers and monitors, and apps that show a card of a link. */
export const bots = new Weighted<string>([
  ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', 4],
  ['Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)', 2],
  ['Mozilla/5.0 (compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)', 3],
  ['WhatsApp/2.23.20.0', 6],
  ['facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)', 3],
  ['Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)', 1],
]);

/** Pages that led to a short link: a camera sends none. */
export const referers = new Weighted<string>([
  ['', 93],
  ['https://www.instagram.com/', 3],
  ['https://www.google.com/', 2],
  ['https://lens.google.com/', 1],
  ['https://www.tripadvisor.com/', 1],
]);
