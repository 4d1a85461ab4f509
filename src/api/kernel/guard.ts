/**
 * Authentication -> quota -> role, in this order, once per request.
 *
 * A key comes before a cookie: a request with an Authorization header never acts as the signed-in person. A request counts
 * once: with a valid key against its workspace's plan; with a session against its user, so that the dashboard stays usable
 * under a small plan; otherwise against its client address, in a bucket of Free's size, so that guessing is slow. Every
 * answer reports the bucket that it counted against.
 */
import type { Reply, Request } from '../../platform/uws/request.ts';
import { Failure } from '../../model/failure.ts';
import { roleAtLeast, type Actor } from '../../model/workspace.ts';
import type { WorkspaceServices } from '../../product/workspaces/services.ts';
import type { Session, SignedIn } from '../../product/workspaces/sessions.ts';
import type { QuotaAnswer } from '../../product/workspaces/window-count.ts';
import type { SessionCookie } from '../workspaces/cookie.ts';
import type { Access } from './route.ts';

export interface Admission {
  readonly rate: QuotaAnswer;
  readonly actor: Actor | undefined;
  readonly session: Session | undefined;
  /** Why the request is refused. */
  readonly failure: Failure | undefined;
}

/** RFC 6750; the scheme's case does not matter, the token has no spaces. */
const bearerPattern = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;
/** A valid key has about 300 characters: a longer one is not hashed. */
const tokenLengthMax = 2_048;
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

type GuardServices = Pick<
  WorkspaceServices,
  'keys' | 'sessions' | 'quota' | 'sessionQuota' | 'ipQuota'
>;

export class Guard {
  readonly #workspaces: GuardServices;
  readonly #cookie: SessionCookie;

  constructor(workspaces: GuardServices, cookie: SessionCookie) {
    this.#workspaces = workspaces;
    this.#cookie = cookie;
  }

  /** @param access of the route; `viewer` for an unknown path */
  async admit(request: Request, access: Access): Promise<Admission> {
    try {
      return await this.#admit(request, access);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const rate = this.countRefused(request);
      return { rate, actor: undefined, session: undefined, failure: error };
    }
  }

  async #admit(request: Request, access: Access): Promise<Admission> {
    if (access === 'signed') return this.#signed(request);
    const header = request.header('authorization');
    if (header === undefined) return this.#bySession(request, access);
    const token = bearerPattern.exec(header)?.[1];
    if (token === undefined || token.length > tokenLengthMax) {
      return this.#asAnonymous(request, access, 'the header is malformed');
    }
    const verified = await this.#workspaces.keys.verify(token).catch((error: unknown) => {
      if (error instanceof Failure && error.code === 'unauthorized') return undefined;
      throw error;
    });
    if (verified === undefined) {
      return this.#asAnonymous(request, access, 'the API key is not valid');
    }
    const { actor, limits } = verified;
    const rate = this.#workspaces.quota.take(actor.workspaceNo, limits);
    const failure = refusal(rate) ?? accessFailure(actor, undefined, access);
    return { rate, actor, session: undefined, failure };
  }

  /** Counts a request without a valid key or session. */
  countRefused(request: Request): QuotaAnswer {
    return this.#workspaces.ipQuota.take(request.clientAddress);
  }

  #bySession(request: Request, access: Access): Admission {
    const secrets = this.#cookie.read(request);
    if (secrets.length === 0) return this.#asAnonymous(request, access, 'the API key is missing');
    let found: SignedIn | undefined;
    for (const secret of secrets) found ??= this.#workspaces.sessions.find(secret);
    if (found === undefined) return this.#asAnonymous(request, access, 'the session has ended');
    const forgery = this.#forgery(request, found);
    // A public route needs no session, so a forged request gains nothing from it.
    if (forgery !== undefined && access === 'public') {
      return this.#asAnonymous(request, access, forgery);
    }
    const { actor, session } = found;
    const forged =
      forgery === undefined
        ? undefined
        : new Failure('forbidden', `Cannot act for the session: ${forgery}`);
    const rate = this.#workspaces.sessionQuota.take(actor.userId);
    const failure = refusal(rate) ?? forged ?? accessFailure(actor, session, access);
    return { rate, actor, session, failure };
  }

  #forgery(request: Request, { session }: SignedIn): string | undefined {
    return safeMethods.has(request.method) ? undefined : this.#cookie.forgery(request, session);
  }

  /** The handler checks the body's signature; `countRefused` counts a forged one. */
  #signed(request: Request): Admission {
    const rate = this.#workspaces.ipQuota.peek(request.clientAddress);
    return { rate, actor: undefined, session: undefined, failure: refusal(rate) };
  }

  #asAnonymous(request: Request, access: Access, why: string): Admission {
    const rate = this.countRefused(request);
    const unauthorized = new Failure(
      'unauthorized',
      `Cannot authenticate: ${why}, expected Authorization: Bearer <API key>`,
    );
    const failure = refusal(rate) ?? (access === 'public' ? undefined : unauthorized);
    return { rate, actor: undefined, session: undefined, failure };
  }
}

function refusal(rate: QuotaAnswer): Failure | undefined {
  if (rate.allowed) return undefined;
  const code = rate.code ?? 'rate_limited';
  const span = code === 'rate_limited' ? 'minute' : 'day';
  const retryAfterSeconds = rate.retryAfterSeconds ?? 1;
  return new Failure(
    code,
    `The ${span}’s ${rate.limit} requests are used up, the next ${span} starts in ${retryAfterSeconds} s`,
    { retryAfterSeconds },
  );
}

function accessFailure(
  actor: Actor,
  session: Session | undefined,
  access: Access,
): Failure | undefined {
  if (access === 'public' || access === 'signed') return undefined;
  if (access === 'person') {
    if (session !== undefined) return undefined;
    return new Failure('forbidden', 'This is for signed-in users, not for API keys');
  }
  if (roleAtLeast(actor.role, access)) return undefined;
  const whose = session === undefined ? 'This key’s' : 'Your';
  return new Failure('forbidden', `${whose} role is ${actor.role}, expected at least ${access}`);
}

export function withRate(reply: Reply, rate: QuotaAnswer): Reply {
  const headers = {
    'X-RateLimit-Limit': String(rate.limit),
    'X-RateLimit-Remaining': String(rate.remaining),
    'X-RateLimit-Reset': String(rate.resetAtSeconds),
    ...reply.headers,
  };
  return { ...reply, headers };
}
