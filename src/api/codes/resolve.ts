/** GET /qr-codes/:id/resolve: what a person's scan would get, without counting it. */
import { z } from 'zod';
import type { Codes } from '../../product/codes/codes.ts';
import type { Clock } from '../../model/clock.ts';
import { Failure } from '../../model/failure.ts';
import type { CodeNo } from '../../model/numbers.ts';
import { missedReasons } from '../../model/routing/labels.ts';
import { Browser, Device, Os, unknownCountry } from '../../model/scan.ts';
import { resolveRoute } from '../../engine/routes/resolve.ts';
import { moment } from '../kernel/fields.ts';
import { createRoute, jsonResult, type Route } from '../kernel/route.ts';
import { routeCountry, wordOf } from './routing-schemas.ts';

const headerLengthMax = 1_024;
const queryLengthMax = 4_096;

const resolveQuery = z.object({
  device: wordOf(Device)
    .optional()
    .meta({ description: 'Default: the usual device of the system', example: 'mobile' }),
  os: wordOf(Os).default('other').meta({ description: 'Its system', example: 'iOS' }),
  browser: wordOf(Browser).default('other').meta({ description: 'Its browser', example: 'Safari' }),
  country: routeCountry
    .default(unknownCountry)
    .meta({ description: 'Two letters; default: unknown', example: 'DE' }),
  language: z
    .string()
    .max(headerLengthMax)
    .default('')
    .meta({ description: 'A language, or a whole `Accept-Language`', example: 'de-AT' }),
  at: moment.optional().meta({ description: 'Time of the scan; default: now' }),
  query: z
    .string()
    .max(queryLengthMax)
    .default('')
    .meta({ description: 'The short link’s own query', example: 'table=4' }),
});

const location = z.string().meta({
  override: { format: 'uri' },
  description: 'The destination',
  example: 'https://example.com/menu',
});
const label = z
  .string()
  .meta({ description: 'Label that would count the scan', example: 'target' });

const resolved = z
  .object({
    status: z.int().meta({
      description: '302, or the status of the shown page: 404 before `startsAt`, else 410',
      example: 302,
    }),
    location: location.nullable().meta({ description: 'The destination; null if a page is shown' }),
    label,
    reason: z.enum(['target', 'rule', 'split', ...missedReasons]).meta({
      description: 'The reason; the last four also with `fallbackUrl`',
      example: 'target',
    }),
    variants: z
      .array(
        z.object({
          label,
          location,
          share: z.number().meta({ description: 'Share of the visitors, 0 to 1', example: 0.5 }),
        }),
      )
      .optional()
      .meta({
        description: 'All variants, if a split decides. The answer then has the largest share',
      }),
  })
  .meta({ id: 'ResolvedRoute' });

export interface ResolveOptions {
  readonly codes: Codes;
  readonly scansOf: (codeNo: CodeNo) => number;
  readonly clock: Clock;
}

export function resolveRoutes({ codes, scansOf, clock }: ResolveOptions): Route[] {
  const resolve = createRoute({
    method: 'GET',
    path: '/qr-codes/:id/resolve',
    operationId: 'resolveQrCode',
    access: 'viewer',
    tag: 'QR codes',
    summary: 'Try where a code leads',
    description:
      'Shows the result of a person’s scan, without counting it for numbers or `scanLimit`. Bots, ' +
      'previews and prefetches get the target.',
    query: resolveQuery,
    answer: { status: 200, schema: resolved, what: 'The destination and the reason' },
    failures: ['not_found', 'static_code'],
    handle: async ({ actor, id, query }) => {
      const code = codes.get(actor.workspaceNo, id);
      if (!code.dynamic) {
        throw new Failure('static_code', 'A static code has no short link');
      }
      const { os, browser, at, country, language, query: ownQuery } = query;
      const device = query.device ?? usualDevice[os];
      const asked = {
        device: Device[device],
        os: Os[os],
        browser: Browser[browser],
        country,
        language,
        query: ownQuery,
        nowMs: at ?? clock.now(),
      };
      return jsonResult(
        200,
        resolveRoute(code, asked, () => scansOf(code.no)),
      );
    },
  });
  return [resolve];
}

const usualDevice: Readonly<Record<keyof typeof Os, keyof typeof Device>> = {
  iOS: 'mobile',
  Android: 'mobile',
  Windows: 'desktop',
  macOS: 'desktop',
  Linux: 'desktop',
  ChromeOS: 'desktop',
  other: 'other',
};
