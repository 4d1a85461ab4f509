/** The `webhooks` of the document: the events as requests that endpoints get. */
import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi';
import { idPattern } from '../../model/ids.ts';
import { eventCauses, eventSchemas } from '../events/event-schemas.ts';
import { kind } from '../webhooks/deliveries.ts';
import { batchMax } from '../webhooks/webhooks.ts';
import { pascalCase } from '../kernel/fields.ts';

const header = (id: string, description: string, example: string, pattern: string) =>
  z.string().meta({ override: { pattern }, description, example, param: { id } });

const hex = '0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9';
const headers = z.object({
  'X-Service-Signature': header(
    'Signature',
    'Time of sending and HMAC-SHA256 of `<t>.<body>` in hex, keyed by the whole secret; one `v1` for each ' +
      'secret that is valid now. Check it before you trust the body',
    `t=1772366400,v1=${hex}`,
    '^t=\\d+(,v1=[0-9a-f]{64})+$',
  ),
  'webhook-id': header(
    'webhook-id',
    'Standard Webhooks: id of the event, of the first event if the body is a list; in a cluster, a list has its own id',
    'evt_01k3zq8m4hd2v7c5x9ab',
    idPattern('evt'),
  ),
  'webhook-timestamp': header(
    'webhook-timestamp',
    'Standard Webhooks: Unix seconds of sending',
    '1772366400',
    '^\\d+$',
  ),
  'webhook-signature': header(
    'webhook-signature',
    'Standard Webhooks: base64 HMAC-SHA256 of `<id>.<t>.<body>`, keyed by the decoded part of the secret; one ' +
      'for each secret that is valid now',
    'v1,ChssPU5fYHGCk6S1xtfo+QobLD1OX2BxgpOktcbX6Pk=',
    '^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$',
  ),
  'X-Service-Event': kind.meta({
    description: 'Kind of the event, as in the body',
    param: { id: 'Event' },
  }),
  'X-Service-Delivery': header(
    'Delivery',
    'The delivery, to look it up with `getDelivery`; the same on every attempt',
    'dlv_01k3zq8m4hd2v7c5x9ab',
    idPattern('dlv'),
  ),
  'X-Service-Attempt': z.string().meta({
    override: { type: 'integer', minimum: 1 },
    description: 'Number of the attempt',
    example: 1,
    param: { id: 'Attempt' },
  }),
});

/** The security scheme of what endpoints get. */
export const webhookSignature = {
  type: 'apiKey',
  in: 'header',
  name: 'X-Service-Signature',
  description: 'On requests to endpoints: made with the endpoint’s secret.',
} as const;

export function createWebhooks(): ZodOpenApiPathsObject {
  const answers: ZodOpenApiOperationObject['responses'] = {
    '2XX': { id: 'Received', description: 'Received. At most 16 KB of the answer are read' },
    '410': { id: 'EndpointGone', description: 'Stop: the endpoint is disabled' },
    default: {
      id: 'TryAgain',
      description:
        'Anything else, no answer within 15 s, or a redirect: sent again, at most 8 times in total; ' +
        '`Retry-After` with 429 or 503 is respected up to twice the delay',
    },
  };
  return Object.fromEntries(
    [...eventSchemas].map(([kind, envelope]) => {
      const isScan = kind === 'qr.scanned';
      const note = isScan ? ` ${listNote}` : '';
      const schema = isScan ? oneOrList(envelope) : envelope;
      const post: ZodOpenApiOperationObject = {
        operationId: `on${pascalCase(kind)}`,
        tags: ['Webhooks'],
        summary: kind,
        description: `Sent when ${eventCauses[kind]}.${note}`,
        security: [{ webhookSignature: [] }],
        requestParams: { header: headers },
        requestBody: { required: true, content: { 'application/json': { schema } } },
        responses: answers,
      };
      return [kind, { post }];
    }),
  );
}

const listNote =
  'Scans of a busy code arrive as a list of these events, each with its own id, unless `maxBatch` is 1.';

function oneOrList(scanned: z.ZodObject): z.ZodType {
  return z
    .union([scanned, z.array(scanned).min(2).max(batchMax)])
    .meta({ id: 'QrScannedBody', description: 'One scan, or a list of them' });
}
