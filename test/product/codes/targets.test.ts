import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isFaults, validateTarget } from '../../../src/product/codes/targets.ts';
import type { CodeType } from '../../../src/model/code.ts';
import { anyText } from '../../model/any-text.ts';
import { leastMilliseconds } from '../../support/least-milliseconds.ts';

const own = ['localhost:8081', 'go.example.com', 'xn--mnchen-3ya.example'];

/** The stored target, or the code of the first fault. */
function check(type: CodeType, target: string): string {
  const checked = validateTarget(type, target, own);
  return isFaults(checked) ? `refused: ${checked[0]?.code}` : checked.target;
}

describe('url', () => {
  test.each([
    ['https://example.com', 'https://example.com/'],
    ['HTTPS://Example.COM:443/a/../b?q=1#f', 'https://example.com/b?q=1#f'],
    ['http://example.com:80', 'http://example.com/'],
    ['https://münchen.de/ö', 'https://xn--mnchen-3ya.de/%C3%B6'],
    ['http://localhost:8080/x', 'http://localhost:8080/x'],
    [
      'https://example.com/?next=https://user@other.example/\\',
      'https://example.com/?next=https://user@other.example/\\',
    ],
    ['https://go.example.com.evil.example/', 'https://go.example.com.evil.example/'],
    ['https://go.example.com:8443/', 'https://go.example.com:8443/'],
    ['http://[::1]:9/', 'http://[::1]:9/'],
  ])('%s is stored as %s', (target, stored) => {
    expect(check('url', target)).toBe(stored);
  });

  test.each([
    ['', 'required'],
    ['javascript:alert(1)', 'invalid_url'],
    ['data:text/html,x', 'invalid_url'],
    ['file:///etc/passwd', 'invalid_url'],
    ['ftp://example.com/', 'invalid_url'],
    ['//example.com/', 'invalid_url'],
    ['/path', 'invalid_url'],
    ['example.com', 'invalid_url'],
    ['https:example.com', 'invalid_url'],
    ['https:/example.com', 'invalid_url'],
    ['https:\\\\example.com', 'invalid_url'],
    ['https://good.example\\@evil.example', 'invalid_url'],
    ['https://', 'invalid_url'],
    ['https://。', 'invalid_url'],
    ['https://../', 'invalid_url'],
    ['https://a。。example/', 'invalid_url'],
    ['https://exa mple.com/', 'invalid_characters'],
    ['https://example.com/a b', 'invalid_characters'],
    [' https://example.com/', 'invalid_characters'],
    ['https://example.com/\u00a0', 'invalid_characters'],
    ['java\nscript:alert(1)', 'invalid_characters'],
    ['https://example.com/\r\nSet-Cookie: a=b', 'invalid_characters'],
    ['https://example.com/\t', 'invalid_characters'],
    ['https://example.com/\u0000', 'invalid_characters'],
    ['\u0001https://example.com/', 'invalid_characters'],
    ['https://example.com/\u0085', 'invalid_characters'],
    ['https://example.com/\u202egnp.exe', 'invalid_characters'],
    ['https://example.com/\u2066x', 'invalid_characters'],
    ['https://exam\u200bple.com/', 'invalid_characters'],
    ['https://exam\u00adple.com/', 'invalid_characters'],
    ['\ufeffhttps://example.com/', 'invalid_characters'],
    ['https://example.com/\ud800', 'invalid_characters'],
    ['https://example.com/\u{e0041}', 'invalid_characters'],
    ['https://user:secret@example.com/', 'credentials'],
    ['https://user@example.com/', 'credentials'],
    ['https://@example.com/', 'credentials'],
    ['https://:@example.com/', 'credentials'],
    ['http://localhost:8081/ABC', 'own_host'],
    ['http://LOCALHOST:8081', 'own_host'],
    ['http://localhost.:8081', 'own_host'],
    ['https://go.example.com/', 'own_host'],
    ['https://GO.Example.com:443/x', 'own_host'],
    ['http://go.example.com:80/x', 'own_host'],
    ['http://go.example.com./x', 'own_host'],
    ['https://ｇｏ.example.com/', 'own_host'],
    ['https://go%2Eexample.com/', 'own_host'],
    ['https://münchen.example/', 'own_host'],
    ['https://256.256.256.256/', 'invalid_url'],
    ['http:///example.com/', 'invalid_url'],
    ['https:////example.com/', 'invalid_url'],
    ['https://?example.com', 'invalid_url'],
    [`https://example.com/${'a'.repeat(2_048)}`, 'too_long'],
    [`https://example.com/${'ö'.repeat(500)}`, 'too_long'],
  ])('%j is refused as %s', (target, code) => {
    expect(check('url', target)).toBe(`refused: ${code}`);
  });

  test.each([
    ['not a url', /not a web address: expected one such as https:\/\/example\.com\/menu/],
    ['localhost:3000/menu', /not a web address/],
    ['mailto:a@example.com', /begins with http:\/\/ or https:\/\/, not with mailto:/],
    ['https://my menu.example/', /not allowed in a host.*such as https:\/\/example\.com\/menu/],
    ['https://example.com/my menu', /write it as %20/],
    [' https://example.com/', /before or after the address/],
    ['https://', /host is required.*such as https:\/\/example\.com\/menu/],
    ['https://[::1/', /host of the address is not valid.*such as https:\/\/example\.com\/menu/],
  ])('of %j it says what is wrong', (target, message) => {
    const checked = validateTarget('url', target, []);
    expect(isFaults(checked) ? checked[0]?.message : checked).toMatch(message);
  });

  test.each([
    'http://127.0.0.1:8081/x',
    'https://127.0.0.1:8081/x',
    'http://127.1:8081/',
    'http://2130706433:8081/',
    'http://0x7f.1:8081/',
    'http://127.0.0.2:8081/',
    'http://0:8081/',
    'http://[::1]:8081/',
    'http://[::]:8081/',
    'http://[0:0:0:0:0:0:0:1]:8081/',
    'http://[::ffff:127.0.0.1]:8081/',
    'http://any.localhost:8081/',
    'http://any.localhost.:8081/',
    'http://localhost.localdomain:8081/',
    'http://ip6-localhost:8081/',
  ])('%s is the own host of localhost:8081', (target) => {
    expect(check('url', target)).toBe('refused: own_host');
  });

  test.each(['127.0.0.1:8081', '[::1]:8081', '0.0.0.0:8081'])(
    'http://localhost:8081/ is the own host of %s',
    (host) => {
      const checked = validateTarget('url', 'http://localhost:8081/', [host]);
      expect(isFaults(checked) && checked[0]?.code).toBe('own_host');
    },
  );

  test.each([
    'http://128.0.0.1:8081/',
    'http://[::2]:8081/',
    'http://127.0.0.1.example:8081/',
    'http://notlocalhost:8081/',
    'http://127.0.0.1:8080/',
    'http://127.0.0.1/',
  ])('%s is another host than localhost:8081', (target) => {
    expect(check('url', target)).toBe(target);
  });

  test('a loopback is not the own host of a public name', () => {
    expect(isFaults(validateTarget('url', 'http://127.0.0.1/', ['go.example.com']))).toBe(false);
  });

  test('2,048 characters are taken, one more is not', () => {
    const target = `https://example.com/${'a'.repeat(2_028)}`;
    expect(check('url', target)).toBe(target);
    expect(check('url', `${target}a`)).toBe('refused: too_long');
  });

  test('what is stored is a header-safe http address and stays as it is', () => {
    const text = fc.oneof(
      fc.webUrl({ withQueryParameters: true, withFragments: true }),
      anyText().map((tail) => `https://example.com/${tail}`),
      fc.string({ unit: 'grapheme' }).map((tail) => `https://${tail}`),
    );
    fc.assert(
      fc.property(text, (target) => {
        const checked = validateTarget('url', target, own);
        if (isFaults(checked)) return;
        expect(checked.target).toMatch(/^https?:\/\/[\x21-\x7e]+$/);
        expect(checked.target.length).toBeLessThanOrEqual(2_048);
        expect(validateTarget('url', checked.target, own)).toEqual(checked);
      }),
      { numRuns: 300 },
    );
  });
});

describe('static types', () => {
  test.each<[CodeType, string, string?]>([
    ['text', 'Two\nlines and an emoji 🙂'],
    ['email', ' name+tag@example.com ', 'mailto:name+tag@example.com'],
    ['email', 'mailto:name@example.com?subject=Hello'],
    ['phone', '+49 (30) 123-45.67', 'tel:+49301234567'],
    ['phone', '+49 (0) 30/1234567', 'tel:+49301234567'],
    ['phone', '030 1234\u20137', 'tel:03012347'],
    ['phone', 'TEL:+49 30 1234567', 'tel:+49301234567'],
    ['phone', '112', 'tel:112'],
    ['sms', '+49 (0)30 1234567', 'SMSTO:+49301234567'],
    ['sms', 'sms:+49301234567', 'SMSTO:+49301234567'],
    ['sms', 'sms:+49 30 1234567?body=Hello there', 'sms:+49301234567?body=Hello there'],
    ['sms', 'SMSTO:+49301234567:Hello: there'],
    ['wifi', 'WIFI:T:WPA;S:My\\;net;P:pass\\:word1;;'],
    ['wifi', 'WIFI:T:WPA;S:mynetwork;P:mypass;;'],
    ['wifi', 'WIFI:S:Open;;'],
    ['wifi', 'WIFI:T:nopass;S:Guests;H:true;;'],
    ['vcard', 'BEGIN:VCARD\r\nVERSION:3.0\r\nN:Doe;Jane\r\nFN:Jane Doe\r\nEND:VCARD'],
    ['vcard', 'BEGIN:VCARD\nVERSION:4.0\nFN;LANGUAGE=en:Jane\nEND:VCARD\n'],
    ['geo', '52.5163, 13.3777', 'geo:52.5163,13.3777'],
    ['geo', '52.51628219999999,13.377702', 'geo:52.51628219999999,13.377702'],
    ['geo', 'geo:-90,180,12.5;u=35'],
    ['geo', 'geo:52.5163,13.3777?q=Gate'],
  ])('%s %j is taken', (type, target, stored = target) => {
    expect(check(type, target)).toBe(stored);
    expect(check(type, stored)).toBe(stored);
  });

  test.each<[CodeType, string, string]>([
    ['text', ' \n ', 'required'],
    ['text', 'bell\u0007', 'invalid_characters'],
    ['text', 'abc\u202edef', 'invalid_characters'],
    ['text', 'ö'.repeat(1_001), 'too_long'],
    ['email', 'name', 'invalid_email'],
    ['email', 'name@localhost', 'invalid_email'],
    ['email', 'a@b@example.com', 'invalid_email'],
    ['email', 'name@example.com?subject=x', 'invalid_email'],
    ['email', 'name@example.com\nBcc: x@y.z', 'invalid_characters'],
    ['phone', 'call me', 'invalid_phone'],
    ['phone', '+1234567890123456', 'invalid_phone'],
    ['phone', '12', 'invalid_phone'],
    ['sms', 'sms:', 'invalid_sms'],
    ['sms', '+49301234567?body=x', 'invalid_sms'],
    ['wifi', 'My network', 'invalid_wifi'],
    ['wifi', 'WIFI:T:WPA;S:net;P:;;', 'invalid_wifi'],
    ['wifi', `WIFI:T:WPA;S:net;P:${'x'.repeat(65)};;`, 'invalid_wifi'],
    ['wifi', 'WIFI:T:WPA;P:longenough;;', 'invalid_wifi'],
    ['wifi', 'WIFI:T:WPA;S:a;S:b;P:longenough;;', 'invalid_wifi'],
    ['wifi', 'WIFI:T:XYZ;S:net;P:longenough;;', 'invalid_wifi'],
    ['wifi', `WIFI:T:nopass;S:${'x'.repeat(33)};;`, 'invalid_wifi'],
    ['vcard', 'VERSION:3.0\nFN:Jane', 'invalid_vcard'],
    ['vcard', 'BEGIN:VCARD\nFN:Jane\nEND:VCARD', 'invalid_vcard'],
    ['vcard', 'BEGIN:VCARD\nVERSION:3.0\nEND:VCARD', 'invalid_vcard'],
    ['geo', '91,0', 'invalid_geo'],
    ['geo', '0,181', 'invalid_geo'],
    ['geo', 'Berlin', 'invalid_geo'],
  ])('%s %j is refused as %s', (type, target, code) => {
    expect(check(type, target)).toBe(`refused: ${code}`);
  });

  test('no text takes a rule long: 2,000 hostile characters end in milliseconds', () => {
    const types = ['text', 'email', 'phone', 'sms', 'wifi', 'vcard', 'geo'] as const;
    const hostile = [
      'WIFI:' + 'a:\\;'.repeat(490),
      'a.'.repeat(999),
      '1'.repeat(2_000),
      'WIFI:' + ';'.repeat(1_990) + 'x',
      '1'.repeat(99) + ' '.repeat(1_900),
      'a@' + 'a-'.repeat(990),
    ];
    const spentMs = leastMilliseconds(() => {
      for (const type of types) for (const target of hostile) check(type, target);
    });
    expect(spentMs).toBeLessThan(500);
  });
});
