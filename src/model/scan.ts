/**
 * Names of devices, platforms, systems and browsers, and why a request is not a person's scan. Records, rollups and indexes
 * store the numbers: add at the end, never renumber, never reuse. `other` is 0.
 */
import { dayMs } from './day.ts';

/** Form factor, as in the event's `device`. */
export const Device = { other: 0, mobile: 1, tablet: 2, desktop: 3 } as const;
export type Device = (typeof Device)[keyof typeof Device];

/** The keys of `devices` in analytics: iOS and iPadOS, Android, the rest. */
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

/** Browser by product. An app with an embedded browser has its own name if the user agent does, else `WebView`. */
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

/** Why a redirect is no scan: `bot` crawlers, monitors, libraries; `preview` a card of the link; `prefetch` of a browser. */
export const BotReason = { none: 0, bot: 1, preview: 2, prefetch: 3 } as const;
export type BotReason = (typeof BotReason)[keyof typeof BotReason];

export interface VisitorClass {
  readonly device: Device;
  readonly platform: Platform;
  readonly os: Os;
  readonly browser: Browser;
}

/** A user-assigned code of ISO 3166-1. */
export const unknownCountry = 'ZZ';
/** Two capital letters as one number, as in blocks, rollups and programs. */
export const countryNumber = (code: string): number =>
  (code.charCodeAt(0) << 8) | code.charCodeAt(1);
export const countryCode = (number: number): string =>
  String.fromCharCode(number >>> 8, number & 0xff);
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

export const deviceNames = namesByNumber(Device);
export const osNames = namesByNumber(Os);
export const browserNames = namesByNumber(Browser);
export const botReasonNames = namesByNumber(BotReason);

const oldGeoDays = 180;

/** @param date of the geo data, `2026-06-05` @returns what to do about data that is over 180 days old */
export function geoWarning(date: string, nowMs: number): string | undefined {
  if (nowMs - Date.parse(date) <= oldGeoDays * dayMs) return undefined;
  const remedy =
    'update Quietzone, or set geo.countryFile, geo.cityFileV4 and geo.cityFileV6 to newer files';
  return `geo data of ${date} is over ${oldGeoDays} days old: ${remedy}`;
}
