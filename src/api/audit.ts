/**
 * The audit log: one line for each change of people, keys, members, invites and endpoints, and one for each refusal,
 * so that an operator sees an attack. Every request to /v1 passes here once, with its answer.
 *
 *   audit         the operation, such as `createApiKey`
 *   status, code  of the answer; a code where it is a problem
 *   userId, keyId, workspaceId   who acted, and where
 *   target, role  what it was about: the user of a sign-in, the key, the member, the invite, the endpoint
 *   from          tells clients apart without their address: a hash under a key that ends with the process
 *
 * A line has ids and closed names alone: no secret, e-mail or address. What a quota refuses has no line, so that a flood of
 * requests is no flood of lines.
 */
import { createHmac } from 'node:crypto';
import type { Reply, Request } from '../http/request.ts';
import { addressGroup } from '../model/address.ts';
import { parseJson } from '../model/json.ts';
import type { Admission } from './guard.ts';
import type { Tag } from './openapi/tags.ts';
import type { Match } from './router.ts';
import type { ApiServices } from './services.ts';

/** The tags whose changes are logged. */
const auditedTags: ReadonlySet<Tag> = new Set(['Sessions', 'API keys', 'Team', 'Webhooks']);
const idShape = /^[a-z]+_[0-9a-z]{20}$/;
/** Of a sign-in whose password was checked, or was to be: its body is sound. */
const checkedStatuses: ReadonlySet<number> = new Set([200, 401, 403, 429]);
const keyBytes = 32;
const fromLength = 12;

type AuditServices = Pick<ApiServices, 'log' | 'randomBytes'> & {
  readonly workspaces: Pick<ApiServices['workspaces'], 'users'>;
};

export class Audit {
  readonly #services: AuditServices;
  readonly #key: Uint8Array;

  constructor(services: AuditServices) {
    this.#services = services;
    this.#key = services.randomBytes(new Uint8Array(keyBytes));
  }

  async note(request: Request, match: Match, admission: Admission, reply: Reply): Promise<void> {
    const { status, body, headers } = reply;
    const route = match.kind === 'route' ? match.route : undefined;
    const isAudited = route !== undefined && route.method !== 'GET' && auditedTags.has(route.tag);
    const isRefused = (status === 401 && hasCredentials(request)) || status === 403;
    const isFlood = status === 429 && admission.failure !== undefined;
    if (isFlood || headers['Idempotent-Replayed'] === 'true' || !(isAudited || isRefused)) return;
    const answer: unknown = typeof body === 'string' ? JSON.parse(body) : undefined;
    const read = (...path: string[]): string | undefined => textAt(answer, path);
    const { actor } = admission;
    const isSignIn = route?.operationId === 'signIn' && checkedStatuses.has(status);
    const named = [...Object.values('params' in match ? match.params : {}), read('id')];
    this.#services.log.info(
      {
        audit: route?.operationId ?? match.kind,
        status,
        code: status < 400 ? undefined : read('code'),
        userId: actor?.userId ?? read('userId') ?? read('user', 'id'),
        keyId: actor?.keyId,
        workspaceId: actor?.workspaceId ?? read('workspaceId') ?? read('workspace', 'id'),
        target: isSignIn ? await this.#accountOf(request) : named.find(isId),
        role: read('role'),
        from: this.#hashOf(request.clientAddress),
        requestId: request.id,
      },
      'audit',
    );
  }

  /** The account that a sign-in was for; undefined where its address has none. */
  async #accountOf(request: Request): Promise<string | undefined> {
    const email = textAt(parseJson(await request.body()), ['email']);
    return email === undefined
      ? undefined
      : this.#services.workspaces.users.accountsOf(email)[0]?.id;
  }

  #hashOf(address: string): string {
    const hmac = createHmac('sha256', this.#key).update(addressGroup(address));
    return hmac.digest('base64url').slice(0, fromLength);
  }
}

const isId = (text: string | undefined): boolean => text !== undefined && idShape.test(text);

function hasCredentials(request: Request): boolean {
  return request.header('authorization') !== undefined || request.header('cookie') !== undefined;
}

function textAt(value: unknown, path: readonly string[]): string | undefined {
  const found = path.reduce<unknown>((at, name) => Reflect.get(Object(at), name), value);
  return typeof found === 'string' ? found : undefined;
}
