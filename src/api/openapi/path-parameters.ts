/** The parameters of paths: each names one resource, and is a component of the document. */
import { z } from 'zod';
import { logoName } from '../../product/images/design/design.ts';
import type { IdPrefix } from '../../model/ids.ts';
import { idText } from '../kernel/fields.ts';

const delivery = idOf('DeliveryId', 'dlv', 'delivery');

/** By the beginning of the path, the longest first. */
const known: ReadonlyArray<readonly [start: string, parameter: z.ZodString]> = [
  ['/webhooks/deliveries/', delivery],
  ['/webhooks/dead-letters/', delivery],
  ['/webhooks/', idOf('WebhookId', 'whk', 'endpoint')],
  ['/qr-codes/', idOf('QrCodeId', 'qr', 'QR code')],
  ['/campaigns/', idOf('CampaignId', 'cmp', 'campaign')],
  ['/reports/', idOf('ReportId', 'rep', 'report')],
  ['/watches/', idOf('WatchId', 'wch', 'watch')],
  ['/team/invites/', idOf('InviteId', 'inv', 'invite')],
  ['/team/members/', idOf('UserId', 'usr', 'user')],
  ['/api-keys/', idOf('ApiKeyId', 'key', 'API key')],
  ['/workspaces/', idOf('WorkspaceId', 'ws', 'workspace')],
  ['/billing/checkout/', idOf('CheckoutId', 'chk', 'checkout')],
  [
    '/logos/',
    z.string().meta({
      override: { pattern: logoName.source },
      description: 'Id of the logo',
      example: 'logo:0123456789abcdef0123456789abcdef',
      param: { id: 'LogoId' },
    }),
  ],
];

/** @param id of the component */
function idOf(id: string, prefix: IdPrefix, what: string): z.ZodString {
  return idText(prefix, `Id of the ${what}`).meta({ param: { id } });
}

/** Undefined for a path without parameters. @throws Error for a path that is not in the table */
export function pathParameters(path: string): z.ZodObject | undefined {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  if (names.length === 0) return undefined;
  const parameter = known.find(([start]) => path.startsWith(start))?.[1];
  if (parameter === undefined) {
    throw new Error(`Cannot describe ${path}: expected its parameter in path-parameters.ts`);
  }
  return z.object(Object.fromEntries(names.map((name) => [name, parameter])));
}
