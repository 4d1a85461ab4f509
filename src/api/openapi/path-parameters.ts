/** The parameters of paths: what each names, with its form. */
import { z } from 'zod';
import { type IdPrefix, idPattern } from '../../model/ids.ts';

interface Named {
  /** Component of the document. */
  readonly id: string;
  readonly what: string;
  readonly pattern: string;
  readonly example: string;
}

/** By the beginning of the path, the longest first. */
const known: ReadonlyArray<readonly [start: string, named: Named]> = [
  ['/webhooks/dead-letters/', idOf('DeliveryId', 'dlv', 'delivery')],
  ['/webhooks/deliveries/', idOf('DeliveryId', 'dlv', 'delivery')],
  ['/webhooks/', idOf('WebhookId', 'whk', 'endpoint')],
  ['/qr-codes/', idOf('QrCodeId', 'qr', 'QR code')],
  ['/campaigns/', idOf('CampaignId', 'cmp', 'campaign')],
  ['/team/invites/', idOf('InviteId', 'inv', 'invite')],
  ['/team/members/', idOf('UserId', 'usr', 'user')],
  ['/api-keys/', idOf('ApiKeyId', 'key', 'API key')],
  ['/workspaces/', idOf('WorkspaceId', 'ws', 'workspace')],
  ['/billing/checkout/', idOf('CheckoutId', 'chk', 'checkout')],
  [
    '/logos/',
    {
      id: 'LogoId',
      what: 'Id of the logo',
      pattern: '^logo:[0-9a-f]{32}$',
      example: 'logo:0123456789abcdef0123456789abcdef',
    },
  ],
];

function idOf(id: string, prefix: IdPrefix, what: string): Named {
  return {
    id,
    what: `Id of the ${what}`,
    pattern: idPattern(prefix),
    example: `${prefix}_01k3zq8m4hd2v7c5x9ab`,
  };
}

/** What the parameters of a path name. @throws Error for a path that the table does not know */
function pathParameter(path: string): Named {
  const found = known.find(([start]) => path.startsWith(start))?.[1];
  if (found === undefined) {
    throw new Error(
      `Cannot describe the parameter of ${path}: expected a line in path-parameters.ts`,
    );
  }
  return found;
}

/** The parameters of one document; each is the same component wherever it is asked for. */
export class PathParameters {
  readonly #made = new Map<string, z.ZodString>();

  /** Undefined for a path without parameters. */
  of(path: string): z.ZodObject | undefined {
    const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
    if (names.length === 0) return undefined;
    return z.object(Object.fromEntries(names.map((name) => [name, this.#schema(path)])));
  }

  #schema(path: string): z.ZodString {
    const { id, what, pattern, example } = pathParameter(path);
    const made =
      this.#made.get(id) ??
      z.string().meta({ override: { pattern }, description: what, example, param: { id } });
    this.#made.set(id, made);
    return made;
  }
}
