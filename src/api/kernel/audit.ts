/**
 * The audit log: one line for each change of people, keys, members, invites and endpoints, and for each refusal. Every
 * request to /v1 passes here once, with its answer. A line has only ids and closed names: no secret, e-mail or address.
 *
 *   audit, status, code          the operation, such as `createApiKey`, and how it ended
 *   userId, keyId, workspaceId   who acted, and where
 *   target, role                 the user of a sign-in, the key, the member, the invite, the endpoint
 *   from                         distinguishes clients: a hash of the address, keyed by a secret of this process
 *
 * A request that a quota refuses has no line, so that a flood of requests does not flood the log.
 */
import { createHmac } from 'node:crypto';
import type { Reply, Request } from '../../platform/uws/request.ts';
import { addressGroup } from '../../model/address.ts';
import { parseJson, textAt } from '../../model/json.ts';
import type { Admission } from './guard.ts';
import type { Tag } from '../openapi/tags.ts';
import type { Match } from './router.ts';
import type { ApiServices } from '../services.ts';

/** The tags whose changes are logged. */
const auditedTags: ReadonlySet<Tag> = new Set(['Sessions', 'API keys', 'Team', 'Webhooks']);
/** Statuses of a sign-in whose body is valid. */
const checkedStatuses: ReadonlySet<number> = new Set([200, 401, 403, 429]);
const idShape = /^[a-z]+_[0-9a-z]{20}$/;
const fromLength = 12;

export class Audit {
  readonly #services: ApiServices;
  readonly #key: Uint8Array;

  constructor(services: ApiServices) {
    this.#services = services;
    this.#key = services.randomBytes(new Uint8Array(32));
  }

  async note(request: Request, match: Match, admission: Admission, reply: Reply): Promise<void> {
    const { status, body, headers } = reply;
    const route = match.kind === 'route' ? match.route : undefined;
    const isAudited = route !== undefined && route.method !== 'GET' && auditedTags.has(route.tag);
    const credentials = request.header('authorization') ?? request.header('cookie');
    const isRefused = status === 403 || (status === 401 && credentials !== undefined);
    const isFlood = status === 429 && admission.failure !== undefined;
    if (isFlood || headers['Idempotent-Replayed'] === 'true' || !(isAudited || isRefused)) return;
    const { log, workspaces } = this.#services;
    const answer: unknown = typeof body === 'string' ? JSON.parse(body) : undefined;
    const read = (...path: string[]): string | undefined => textAt(answer, ...path);
    const isSignIn = route?.operationId === 'signIn' && checkedStatuses.has(status);
    const email = isSignIn ? textAt(parseJson(await request.body()), 'email') : undefined;
    const ids = [...Object.values('params' in match ? match.params : {}), read('id') ?? ''];
    const target = ids.find((text) => idShape.test(text));
    const { actor } = admission;
    const from = createHmac('sha256', this.#key).update(addressGroup(request.clientAddress));
    log.info(
      {
        audit: route?.operationId ?? match.kind,
        status,
        code: status < 400 ? undefined : read('code'),
        userId: actor?.userId ?? read('userId') ?? read('user', 'id'),
        keyId: actor?.keyId,
        workspaceId: actor?.workspaceId ?? read('workspaceId') ?? read('workspace', 'id'),
        target: email === undefined ? target : workspaces.users.accountsOf(email)[0]?.id,
        role: read('role'),
        from: from.digest('base64url').slice(0, fromLength),
        requestId: request.id,
      },
      'audit',
    );
  }
}
