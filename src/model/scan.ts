/**
 * The words of a scan: what a visitor's device, platform, operating system and browser can be called,
 * and why a request is not a person's scan.
 *
 * Records, rollups and indexes store the NUMBERS: a number here is for ever. Add at the end, never
 * renumber, never reuse. Each set is closed and has `other` as 0, so that a rollup's arrays have a
 * fixed length whatever visitors send. The read side turns numbers into words by the `…Names` lists.
 */

/** Form factor, as in the event's `device`. */
export const Device = { other: 0, mobile: 1, tablet: 2, desktop: 3 } as const;
export type Device = (typeof Device)[keyof typeof Device];

/** The three keys of an analytics result's `devices`: iOS and iPadOS, Android, the rest. */
export const Platform = { other: 0, ios: 1, android: 2 } as const;
export type Platform = (typeof Platform)[keyof typeof Platform];

/** Operating system, as in the event's `os`; iPadOS counts as iOS. */
export const Os = {
  other: 0,
  iOS: 1,
  Android: 2,
  Windows: 3,
  macOS: 4,
  Linux: 5,
  ChromeOS: 6,
} as const;
export type Os = (typeof Os)[keyof typeof Os];

/** Browser by product. An app that shows pages inside itself is named where its user agent does, else `WebView`. */
export const Browser = {
  other: 0,
  Chrome: 1,
  Safari: 2,
  Firefox: 3,
  Edge: 4,
  'Samsung Internet': 5,
  Opera: 6,
  WebView: 7,
  'Google App': 8,
  Facebook: 9,
  Instagram: 10,
  WeChat: 11,
  TikTok: 12,
  Snapchat: 13,
  LINE: 14,
  LinkedIn: 15,
  Pinterest: 16,
  X: 17,
  DuckDuckGo: 18,
  'UC Browser': 19,
  'Huawei Browser': 20,
  'MIUI Browser': 21,
  Yandex: 22,
  Vivaldi: 23,
  'Internet Explorer': 24,
  QQ: 25,
  Alipay: 26,
  Brave: 27,
} as const;
export type Browser = (typeof Browser)[keyof typeof Browser];

/**
 * Why a redirect is counted apart from scans. `bot`: crawlers, monitors, libraries; `preview`: an app
 * fetched the page to show a card of the link; `prefetch`: a browser loaded it before anyone asked.
 */
export const BotReason = { none: 0, bot: 1, preview: 2, prefetch: 3 } as const;
export type BotReason = (typeof BotReason)[keyof typeof BotReason];

/** What a user agent says about its visitor, in numbers. */
export interface VisitorClass {
  readonly device: Device;
  readonly platform: Platform;
  readonly os: Os;
  readonly browser: Browser;
  readonly bot: BotReason;
}

/** Country of an address that no database knows; a user-assigned code of ISO 3166-1. */
export const unknownCountry = 'ZZ';
/** Two capital letters as one number, as blocks, rollups and programs have them; and back. */
export const countryNumber = (code: string): number =>
  (code.charCodeAt(0) << 8) | code.charCodeAt(1);
export const countryCode = (number: number): string =>
  String.fromCharCode(number >>> 8, number & 0xff);
/** City of an address that no database knows. */
export const unknownCity = '';

export type DeviceName = keyof typeof Device;
export type OsName = keyof typeof Os;
export type BrowserName = keyof typeof Browser;

function namesByNumber(words: Readonly<Record<string, number>>): readonly string[] {
  const names: string[] = [];
  for (const [name, number] of Object.entries(words)) {
    if (names[number] !== undefined) throw new Error(`Cannot number ${name}: ${number} is taken`);
    names[number] = name;
  }
  return Object.freeze(names);
}

/** Words by number: `deviceNames[Device.mobile] === 'mobile'`. */
export const deviceNames = namesByNumber(Device);
export const osNames = namesByNumber(Os);
export const browserNames = namesByNumber(Browser);
export const botReasonNames = namesByNumber(BotReason);
