/** /conversions: count what a scan led to, and read the sums of a code. */
import type { Codes } from '../../product/codes/codes.ts';
import type { Conversion, Conversions } from '../../product/campaigns/conversions.ts';
import type { Clock } from '../../model/clock.ts';
import { dayOf, formatDay } from '../../model/day.ts';
import { z } from 'zod';
import { codeConversions, conversion, conversionBody } from './campaign-schemas.ts';
import { codeRangeShape } from '../analytics/code-analytics.ts';
import { checkOrder } from '../kernel/fields.ts';
import { postRoute } from '../kernel/resource.ts';
import { createRoute, jsonResult, type Route } from '../kernel/route.ts';
import { view } from '../kernel/view.ts';

const tag = 'Campaigns';

export interface ConversionsOptions {
  readonly conversions: Conversions;
  readonly codes: Codes;
  readonly clock: Clock;
}

export function conversionRoutes(options: ConversionsOptions): Route[] {
  return [createOne(options), listDays(options)];
}

function createOne({ conversions }: ConversionsOptions): Route {
  return postRoute({
    path: '/conversions',
    operationId: 'createConversion',
    access: 'editor',
    tag,
    summary: 'Count a conversion',
    description:
      'Counts for the code and the current UTC day, and so for every campaign with both. An `externalId` counts ' +
      'once in 90 days: a repeat answers 200 with the first conversion, or 409 if the code or the value differs.',
    body: conversionBody,
    answer: {
      status: 201,
      schema: conversion,
      what: 'The counted conversion; Location has the code’s sums',
      known: 'The first conversion with this `externalId`',
      headers: ['Location'],
    },
    make: async ({ actor, body: { qrCodeId, value = null, externalId } }, kept) =>
      await conversions.record(actor, { qrCodeId, value, externalId }, kept),
    result: (made: Conversion) =>
      jsonResult(
        made.isRepeated ? 200 : 201,
        view(conversion, { ...made, deduplicated: made.isRepeated }),
        { Location: `/v1/qr-codes/${made.qrCodeId}/conversions` },
      ),
  });
}

function listDays({ conversions, codes, clock }: ConversionsOptions): Route {
  return createRoute({
    method: 'GET',
    path: '/qr-codes/:id/conversions',
    operationId: 'getConversions',
    access: 'viewer',
    tag,
    summary: 'Conversions of a code',
    description: 'By UTC day, over a range of days, both ends included.',
    query: z.object(codeRangeShape),
    answer: { status: 200, schema: codeConversions, what: 'The sums' },
    failures: ['not_found'],
    handle: ({ actor, id, query }) => {
      const code = codes.getKept(actor.workspaceNo, id);
      const createdDay = dayOf(code.createdAtMs);
      const from = query.from ?? createdDay;
      const to = query.to ?? Math.max(dayOf(clock.now()), from);
      checkOrder(from, to);
      const days = conversions.daysOf(code.no, from, to);
      const { count, value } = conversions.sumOf([code.no], from, to);
      return jsonResult(200, {
        from: formatDay(from),
        to: formatDay(to),
        conversions: count,
        value,
        data: days.map((one) => ({
          date: formatDay(one.day),
          conversions: one.count,
          value: one.value,
        })),
      });
    },
  });
}
