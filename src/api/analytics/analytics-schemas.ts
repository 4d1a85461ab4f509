/** The shapes that analytics of codes, campaigns and the workspace share. */
import { z } from 'zod';
import { type Analytics, breakdowns, routeBreakdowns } from '../../engine/analytics/answers.ts';
import { intervals } from '../../engine/analytics/series.ts';
import { count, queryDay } from '../kernel/fields.ts';

/** A day in an answer. */
export const day = z.string().meta({
  override: { format: 'date' },
  description: 'Day of `timezone`',
  example: '2026-03-01',
});
export const firstDay = day.meta({ description: 'First counted day' });
export const lastDay = day.meta({
  description: 'Last counted day',
  example: '2026-03-31',
});
export const scanCount = count.meta({ description: 'Scans', example: 42 });

/** `from` and `to` of a query, described by their defaults; components of the document. */
export const rangeShape = (of: 'Code' | 'Campaign' | 'Workspace', from: string, to: string) => ({
  from: queryDay
    .optional()
    .meta({ description: `First day; default: ${from}`, param: { id: `${of}From` } }),
  to: queryDay
    .optional()
    .meta({ description: `Last day, included; default: ${to}`, param: { id: `${of}To` } }),
});
export type RangeQuery = z.output<z.ZodObject<ReturnType<typeof rangeShape>>>;

export const country = z.string().meta({
  override: { pattern: '^[A-Z]{2}$' },
  description: 'Two letters (ISO 3166); unknown is `ZZ`',
  example: 'DE',
});

export const totalsShape = {
  totalScans: count.meta({ description: 'Scans without bots and prefetches', example: 42 }),
  uniqueScanners: count.meta({
    description: 'Unique scanners: exact for small numbers, then within 2 %',
    example: 35,
  }),
  devices: z
    .object({
      ios: count.meta({ description: 'iPhones and iPads', example: 20 }),
      android: count.meta({ description: 'Android phones and tablets', example: 18 }),
      other: count.meta({ description: 'Everything else', example: 4 }),
    })
    .meta({ description: 'Scans by device; sums to `totalScans`' }),
  topCountries: z
    .array(z.object({ code: country, scans: scanCount }))
    .max(10)
    .meta({ description: 'At most ten, most scans first; unknown is `ZZ`' }),
};

/** Scanners of the range, by the 90 days before it. */
export const scannersShape = {
  newScanners: count.nullable().meta({
    description:
      'Visitors without a scan in the 90 days before; null with a filter, if `error` is above a tenth of it, or ' +
      'if those days are unknown',
    example: 25,
  }),
  returningScanners: count.nullable().meta({
    description: 'Visitors with a scan in the 90 days before; null as above',
    example: 10,
  }),
  error: z
    .number()
    .min(0)
    .nullable()
    .meta({ description: 'Standard error of both, in scanners; 0 = exact', example: 0 }),
};

/** Of a period that is compared; absent if both are whole. */
const untilShape = {
  until: z
    .string()
    .meta({
      id: 'ComparedUntil',
      override: { type: 'string', format: 'date-time' },
      description: 'End of the scans that `change` compares; absent if both periods are over',
      example: '2026-03-31T01:45:00.000Z',
    })
    .optional(),
};

const timezoneName = z
  .string()
  .meta({ description: 'Time zone of the days', example: 'Europe/Berlin' });

export const interval = z
  .enum(intervals)
  .default('day')
  .meta({
    description: 'Length of a point',
    param: { id: 'Interval' },
  });
const byDescription =
  'The property that groups scans. `hour_of_week` is `mon-00` to `sun-23`; `bot` counts visits excluded from the ' +
  'scans, by reason. ';
/** Of many codes. */
export const groupBreakdowns = ['code', 'tag', 'campaign'] as const;
export type GroupBreakdownBy = (typeof groupBreakdowns)[number];
const severalBreakdowns = [...breakdowns, ...groupBreakdowns] as const;
const codeBreakdowns = [...breakdowns, ...routeBreakdowns] as const;
export type AnyBreakdownBy = (typeof severalBreakdowns)[number] | (typeof codeBreakdowns)[number];
export const bySeveral = z.enum(severalBreakdowns).meta({
  description:
    `${byDescription}\`code\`, \`tag\` and \`campaign\` group by existing codes; a code with two tags counts ` +
    'under both',
  example: 'country',
  param: { id: 'BreakdownBy' },
});
export const byOfCode = z.enum(codeBreakdowns).meta({
  description:
    `${byDescription}\`route\` groups by the label that decided, \`target\` = no label; \`missed\` counts visits ` +
    'to an inactive code, by reason: no other number includes them',
  example: 'country',
  param: { id: 'CodeBreakdownBy' },
});

/** As fractions of the period before. */
const fraction = z.number().nullable();
const changeShape = z
  .object({
    totalScans: fraction.meta({ description: 'Null if the earlier number is 0', example: 0.25 }),
    uniqueScanners: fraction.meta({ description: 'Null if the earlier number is 0', example: 0.2 }),
  })
  .meta({
    id: 'Change',
    description: 'Change since `previous`, as fractions; only with `compare`',
  });

/** An answer with the zone of its days and, with `compare`, the period before. @param id of that period's schema */
const compared = <Shape extends z.ZodRawShape, Before extends z.ZodRawShape>(
  shape: Shape,
  id: string,
  before: Before,
) =>
  z.object({
    ...shape,
    timezone: timezoneName,
    ...untilShape,
    previous: z
      .object({ ...before, ...untilShape })
      .optional()
      .meta({ id, description: 'The period of `compare`' }),
    change: changeShape.optional(),
  });

export const comparedTotals = <Shape extends z.ZodRawShape>(
  shape: Shape,
  id: string,
  ofPrevious: z.ZodRawShape = {},
) => compared(shape, id, { from: firstDay, to: lastDay, ...shape, ...ofPrevious });

const seriesFields = {
  interval: z.enum(intervals).meta({ description: 'Length of a point', example: 'day' }),
  from: firstDay,
  to: lastDay,
  data: z
    .array(
      z.object({
        start: z.string().meta({
          override: { type: 'string', format: 'date-time' },
          description: 'Start of the point, with the offset of the time zone; UTC with `Z`',
          example: '2026-03-01T00:00:00.000Z',
        }),
        scans: scanCount,
      }),
    )
    .meta({
      description:
        'Every point of the range, oldest first, including empty points; the first begins with the range',
    }),
};
export const timeseries = compared(seriesFields, 'SeriesBefore', seriesFields).meta({
  id: 'Timeseries',
});

const breakdownFields = {
  by: z
    .enum([...codeBreakdowns, ...groupBreakdowns])
    .meta({ description: 'As requested', example: 'country' }),
  from: firstDay,
  to: lastDay,
  data: z
    .array(
      z.object({
        key: z.string().meta({ description: 'The country, city, system, label, …', example: 'DE' }),
        name: z
          .string()
          .nullable()
          .optional()
          .meta({ description: 'Name of a code or campaign', example: 'Menu' }),
        scans: scanCount,
      }),
    )
    .meta({
      description:
        'Most scans first; `weekday` and `hour_of_week` in the order of the week, including empty rows',
    }),
};
export const breakdown = compared(breakdownFields, 'BreakdownBefore', breakdownFields).meta({
  id: 'Breakdown',
});

export type TotalsRow = readonly [metric: string, key: string, value: number];

/** A row for each number: its group, its key and its count. */
export function totalsRows(analytics: Analytics): TotalsRow[] {
  const { totalScans, uniqueScanners, devices, topCountries } = analytics;
  return [
    ['totalScans', '', totalScans],
    ['uniqueScanners', '', uniqueScanners],
    ...Object.entries(devices).map(([key, scans]): TotalsRow => ['device', key, scans]),
    ...topCountries.map(({ code, scans }): TotalsRow => ['country', code, scans]),
  ];
}

export function previousRows({ totalScans, uniqueScanners }: Analytics): TotalsRow[] {
  return [
    ['previousTotalScans', '', totalScans],
    ['previousUniqueScanners', '', uniqueScanners],
  ];
}
