/** The parameters of analytics other than the range: the time zone of its days, a period to compare with, and filters. */
import { z } from 'zod';
import type { Codes } from '../../product/codes/codes.ts';
import type { DayRange } from '../../model/day.ts';
import { Failure, invalid } from '../../model/failure.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';
import { browserNames, deviceNames, osNames } from '../../model/scan.ts';
import {
  type Calendar,
  calendarOf,
  utcCalendar,
  type WeekStart,
} from '../../model/zones/calendar.ts';
import type { Subject } from '../../engine/analytics/subject.ts';
import type { ScanFilter } from '../../engine/analytics/filter.ts';
import type { Interval } from '../../engine/analytics/series.ts';
import { tagLengthMax } from '../../product/codes/rules.ts';
import { timeZoneField } from '../codes/time-zone.ts';
import { givenId } from '../kernel/fields.ts';
import { compare } from './comparison.ts';

/** Value of `timezone` for the zone of the workspace. */
const ofWorkspace = 'workspace';
const nameLengthMax = 200;

const zone = timeZoneField('Expected UTC, workspace, or a time zone such as Europe/Berlin', [
  ofWorkspace,
])
  .default(utcCalendar.zone)
  .meta({
    override: { type: 'string', maxLength: 64, default: utcCalendar.zone },
    description: 'Time zone of the days: `UTC`, `workspace` (its setting) or an IANA name',
    example: 'Europe/Berlin',
    param: { id: 'Timezone' },
  });

/** Represents the referrer of a direct scan. A host of this name is indistinguishable. */
export const directReferer = 'direct';

const named = (description: string, example: string) =>
  z.string().max(nameLengthMax).optional().meta({ description, example });

export const zoneShape = { timezone: zone };
export const questionShape = {
  ...zoneShape,
  compare,
  country: z
    .string()
    .regex(/^[A-Z]{2}$/, 'Expected two capital letters such as DE')
    .optional()
    .meta({
      description: 'Only scans from this country; `ZZ` = unknown',
      example: 'DE',
      param: { id: 'ByCountry' },
    }),
  city: named(
    'Only scans from this city, as named in a breakdown; empty = unknown',
    'Leipzig, DE',
  ).meta({
    param: { id: 'ByCity' },
  }),
  device: z
    .enum(deviceNames)
    .optional()
    .meta({
      description: 'Only scans by this kind of device',
      example: 'mobile',
      param: { id: 'ByDevice' },
    }),
  os: z
    .enum(osNames)
    .optional()
    .meta({ description: 'Only scans by this system', example: 'iOS', param: { id: 'ByOs' } }),
  browser: z
    .enum(browserNames)
    .optional()
    .meta({
      description: 'Only scans by this browser',
      example: 'Safari',
      param: { id: 'ByBrowser' },
    }),
  referer: named(
    'Only scans from pages of this host; `direct` = without a page',
    'example.com',
  ).meta({
    param: { id: 'ByReferer' },
  }),
  route: named(
    'Only scans of this route label; `target` = without a label. Needs one code',
    'app-store',
  ).meta({
    param: { id: 'ByRoute' },
  }),
  tag: z
    .string()
    .min(1)
    .max(tagLengthMax)
    .optional()
    .meta({ description: 'Only codes with this tag', example: 'menu', param: { id: 'ByTag' } }),
  campaignId: givenId('cmp', 'a campaign')
    .optional()
    .meta({ description: 'Only codes in this campaign', param: { id: 'ByCampaign' } }),
  qrCodeId: givenId('qr', 'a code')
    .optional()
    .meta({ description: 'Only this code', param: { id: 'ByCode' } }),
};
export type Question = z.output<z.ZodObject<typeof questionShape>>;

export interface ZoneSettings {
  readonly timezone?: string | undefined;
  readonly weekStart?: WeekStart | undefined;
}

/** @throws Failure validation_failed where this runtime does not know the workspace's zone */
export function calendarFor(timezone: string, settings: ZoneSettings | undefined): Calendar {
  const name = timezone === ofWorkspace ? (settings?.timezone ?? utcCalendar.zone) : timezone;
  const calendar = calendarOf(name);
  if (calendar !== undefined) return calendar;
  throw invalid('timezone', 'unknown_timezone', `Unknown time zone ${name}`);
}

/** Points a series has at most: an answer of about 200 KB; 120 weeks, 120 months. */
const daysMax: Readonly<Record<Interval, number>> = {
  quarter_hour: 7,
  hour: 92,
  day: 3_660,
  week: 840,
  month: 3_660,
};

/** @throws Failure validation_failed when a series over the range would be too long */
export function checkLength({ fromDay, toDay }: DayRange, length: Interval): void {
  if (toDay - fromDay < daysMax[length]) return;
  const message = `Expected at most ${daysMax[length]} days for interval=${length}`;
  const faults = [{ path: 'from', code: 'range_too_long', message }];
  throw new Failure('validation_failed', 'The range is too long', { faults });
}

/** The filter of scans, without the parameters that select codes. @param routesOf the numbers of a label; absent = several codes */
export function filterOf(
  asked: Question,
  routesOf: ((label: string) => readonly number[]) | undefined,
): ScanFilter {
  const { country, city, device, os, browser, route } = asked;
  const referer = asked.referer === directReferer ? '' : asked.referer;
  if (route === undefined) return { country, city, device, os, browser, referer };
  if (routesOf === undefined) {
    throw invalid('route', 'needs_code', 'Labels need one code');
  }
  return { country, city, device, os, browser, referer, routes: routesOf(route) };
}

/** The part of a subject with a tag, in a campaign, or with one id. @throws Failure not_found */
export async function narrowed(
  subject: Subject,
  workspaceNo: WorkspaceNo,
  { tag, campaignId, qrCodeId }: Question,
  codes: Pick<Codes, 'listAll' | 'getKept'>,
): Promise<Subject> {
  if (tag === undefined && campaignId === undefined && qrCodeId === undefined) return subject;
  const within = numbersOf(subject);
  const found: CodeNo[] = [];
  const add = (no: CodeNo): void => {
    if (within === undefined || within.has(no)) found.push(no);
  };
  const one = qrCodeId === undefined ? undefined : codes.getKept(workspaceNo, qrCodeId);
  if (tag === undefined && campaignId === undefined) add(one!.no);
  else {
    // Deleted codes have left both.
    for await (const { codes: slice } of codes.listAll(workspaceNo, { tag, campaignId })) {
      for (const { no } of slice) if (one === undefined || one.no === no) add(no);
    }
  }
  // Only one code has scans by route.
  if ('code' in subject && found.length > 0) return subject;
  return { codes: found, workspace: workspaceNo };
}

function numbersOf(subject: Subject): ReadonlySet<number> | undefined {
  if ('code' in subject) return new Set([subject.code]);
  return 'codes' in subject ? new Set(subject.codes) : undefined;
}

/** As a fraction; null from zero. */
export const changeOf = (now: number, before: number): number | null =>
  before === 0 ? null : (now - before) / before;
