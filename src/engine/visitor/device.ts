/**
 * What a user agent says: device, platform, operating system and browser, in 15 to 40 µs.
 *
 * `bowser` reads most of it; own rules cover what it misses: in-app browsers, iPads that pose as Macs but keep a mobile
 * token, TVs and consoles on desktop systems. An iPad with exactly a Mac's user agent counts as a Mac.
 */
import { getParser } from 'bowser';
import { Browser, Device, Os, Platform, type VisitorClass } from '../../model/scan.ts';

/** Apps and browsers that bowser mistakes for what they are built on. The first match wins. */
const ownBrowsers: readonly (readonly [RegExp, Browser])[] = [
  [/\bInstagram /, Browser.Instagram],
  [/\bFBA[NV]\/|\bFB_IAB\//, Browser.Facebook],
  [/\bMicroMessenger\//, Browser.WeChat],
  [/\bAlipayClient\//, Browser.Alipay],
  [/\bmusical_ly|\btrill_|\bBytedanceWebview|\bTikTok/, Browser.TikTok],
  [/\bSnapchat\//, Browser.Snapchat],
  [/\bLine\/\d/, Browser.LINE],
  [/\bLinkedInApp\b/, Browser.LinkedIn],
  [/\[Pinterest\//, Browser.Pinterest],
  [/\bTwitter for |\bTwitterAndroid/, Browser.X],
  [/\bGSA\/\d/, Browser['Google App']],
  [/\bDuckDuckGo\/\d|\bDdg\/\d/, Browser.DuckDuckGo],
  [/\bHuaweiBrowser\//, Browser['Huawei Browser']],
  [/\bMiuiBrowser\//, Browser['MIUI Browser']],
  [/\bM?QQ(?:Browser)?\/\d/, Browser.QQ],
  [/\bUCBrowser\//, Browser['UC Browser']],
  [/\bYaBrowser\//, Browser.Yandex],
  [/; wv\)/, Browser.WebView],
];

/** bowser's names; a missing one is `other`. */
const bowserBrowsers: ReadonlyMap<string, Browser> = new Map<string, Browser>([
  ['Chrome', Browser.Chrome],
  ['Chromium', Browser.Chrome],
  ['Safari', Browser.Safari],
  ['Firefox', Browser.Firefox],
  ['Focus', Browser.Firefox],
  ['Microsoft Edge', Browser.Edge],
  ['Samsung Internet for Android', Browser['Samsung Internet']],
  ['Opera', Browser.Opera],
  ['Opera Touch', Browser.Opera],
  ['Opera Coast', Browser.Opera],
  ['Android Browser', Browser.WebView],
  ['Google Search', Browser['Google App']],
  ['WeChat', Browser.WeChat],
  ['DuckDuckGo', Browser.DuckDuckGo],
  ['UC Browser', Browser['UC Browser']],
  ['Miui', Browser['MIUI Browser']],
  ['Yandex Browser', Browser.Yandex],
  ['Vivaldi', Browser.Vivaldi],
  ['Internet Explorer', Browser['Internet Explorer']],
  ['QQ Browser', Browser.QQ],
  ['QQ Browser Lite', Browser.QQ],
  ['Brave', Browser.Brave],
]);

const bowserSystems: ReadonlyMap<string, Os> = new Map<string, Os>([
  ['iOS', Os.iOS],
  ['Android', Os.Android],
  ['Windows', Os.Windows],
  ['Windows Phone', Os.Windows],
  ['macOS', Os.macOS],
  ['Linux', Os.Linux],
  ['Chrome OS', Os.ChromeOS],
]);

const bowserDevices: ReadonlyMap<string, Device> = new Map<string, Device>([
  ['mobile', Device.mobile],
  ['tablet', Device.tablet],
  ['desktop', Device.desktop],
]);

/** A Mac that is an iPad: Macs never say Mobile, and have no iOS edition of another browser. */
const posingIpad =
  /^Mozilla\/5\.0 \(Macintosh;.*(?: Mobile\/| (?:CriOS|FxiOS|EdgiOS|OPiOS|OPT|GSA)\/)/;
/** TVs and consoles, whatever system they run. */
const television =
  /smart-?tv|\bTV Safari\b|Google ?TV|Android TV|Apple ?TV|HbbTV|NetCast|Web0S|BRAVIA|\bAFT\w{1,6}\b|\bCrKey\b|\bRoku\b|PlayStation|\bXbox\b|Nintendo/i;
/** A page shown by an iOS app: WebKit without the browser's own tokens. */
const appleWebView = (userAgent: string): boolean =>
  userAgent.includes('AppleWebKit/') && !userAgent.includes('Safari/');

const platformOf = (os: Os): Platform => {
  if (os === Os.iOS) return Platform.ios;
  return os === Os.Android ? Platform.android : Platform.other;
};

const unknownVisitor: VisitorClass = Object.freeze({
  device: Device.other,
  platform: Platform.other,
  os: Os.other,
  browser: Browser.other,
});

/** `WebView` is the last choice: any better name wins. */
function browserOf(userAgent: string, os: Os, read: () => string): Browser {
  const own = ownBrowsers.find(([pattern]) => pattern.test(userAgent));
  if (own !== undefined) return own[1];
  const known = bowserBrowsers.get(read()) ?? Browser.other;
  return known === Browser.Safari && os === Os.iOS && appleWebView(userAgent)
    ? Browser.WebView
    : known;
}

function deviceOf(userAgent: string, os: Os, read: () => string): Device {
  if (television.test(userAgent)) return Device.other;
  return bowserDevices.get(read()) ?? (os === Os.ChromeOS ? Device.desktop : Device.other);
}

export function classifyUserAgent(userAgent: string): VisitorClass {
  if (userAgent === '') return unknownVisitor;
  const parser = getParser(userAgent, true);
  const ipad = posingIpad.test(userAgent);
  const os = ipad ? Os.iOS : (bowserSystems.get(parser.getOSName()) ?? Os.other);
  return Object.freeze({
    device: ipad ? Device.tablet : deviceOf(userAgent, os, () => parser.getPlatformType()),
    platform: platformOf(os),
    os,
    browser: browserOf(userAgent, os, () => parser.getBrowserName()),
  });
}
