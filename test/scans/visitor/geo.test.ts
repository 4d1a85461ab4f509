import { afterAll, describe, expect, it } from 'vitest';
import { countryNumber } from '../../../src/model/scan.ts';
import { Geo } from '../../../src/scans/visitor/geo/geo.ts';
import { nowhere } from '../../../src/scans/visitor/geo/place.ts';
import {
  type ScanVisitor,
  Visitor,
  type VisitorSetup,
} from '../../../src/scans/visitor/visitor.ts';
import { parseAddress } from '../../support/address.ts';
import { openBundledGeo } from './geo-data.ts';

const { data, close } = openBundledGeo();
afterAll(close);
const geo = new Geo(data);
const place = (address: string, from = geo) => from.lookup(parseAddress(address), 0);

describe('bundled databases', () => {
  it.each([
    ['8.8.8.8', 'US', /Mountain View/],
    ['133.11.0.1', 'JP', /Chiyoda/],
    ['2600:1700::1', 'US', /./],
    ['2003::1', 'DE', /Bonn/],
  ])('know %s as %s and %s', (address, country, city) => {
    expect(place(address).country).toBe(country);
    expect(place(address).city).toMatch(city);
  });

  it.each([
    '10.0.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '192.168.178.20',
    '224.0.0.1',
    '::1',
    'fc00::1',
    'fe80::1',
    'ff02::1',
  ])('know nothing of %s', (address) => expect(place(address)).toBe(nowhere));
});

it('no files mean ZZ', () => {
  expect(place('8.8.8.8', new Geo({}))).toBe(nowhere);
  expect(nowhere).toMatchObject({ country: 'ZZ', city: '', namedCity: '' });
});

describe('Visitor', () => {
  const key = Buffer.alloc(16, 7);
  const noVisitor: ScanVisitor = {
    visitorHigh: 0,
    visitorLow: 0,
    country: 0,
    city: '',
    device: 0,
    platform: 0,
    os: 0,
    browser: 0,
    bot: 0,
  };
  const iphone =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';

  /** What is known of an iPhone, with more at the end of its user agent. */
  const visitorOf = (address: string, setup: VisitorSetup = { key, geo: data }, more = '') => {
    const visitor = { ...noVisitor };
    new Visitor(setup).read(parseAddress(address), iphone + more, visitor);
    return visitor;
  };

  it('puts class, place and hash of a scan together', () => {
    expect(visitorOf('8.8.8.8')).toEqual({
      visitorHigh: expect.any(Number),
      visitorLow: expect.any(Number),
      device: 1,
      platform: 1,
      os: 1,
      browser: 2,
      bot: 0,
      country: countryNumber('US'),
      city: 'Mountain View, US',
    });
  });
});
