/**
 * Who is asking, and may they: authenticate -> quota -> role, in this order, once per request.
 *
 * A request with a valid key counts against its workspace; any other against its client address in a
 * Free-sized bucket, so that guessing keys is as slow as it can be. Every answer carries the numbers of
 * the bucket it counted against, whatever it says.
 */
import type { Reply, Request } from '../http/request.ts';
import { Failure } from '../model/failure.ts';
import { roleAtLeast, type Actor } from '../model/workspace.ts';
import type { WorkspaceServices } from '../workspaces/services.ts';
import type { QuotaAnswer } from '../workspaces/window-count.ts';
import type { Access } from './roles.ts';

export interface Admission {
  readonly rate: QuotaAnswer;
  readonly actor: Actor | undefined;
  /** Why the request may not go on. */
  readonly failure: Failure | undefined;
}

/** RFC 6750; the scheme's case does not matter, the token has no spaces. */
const bearerPattern = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;
/** A key of ours is about 300 characters: longer ones are not worth hashing. */
const tokenLengthMax = 2_048;

export class Guard {
  readonly #workspaces: Pick<WorkspaceServices, 'keys' | 'quota' | 'ipQuota'>;

  constructor(workspaces: Pick<WorkspaceServices, 'keys' | 'quota' | 'ipQuota'>) {
    this.#workspaces = workspaces;
  }

  /** @param access what the route asks for; an unknown path asks for any key */
  async admit(request: Request, access: Access): Promise<Admission> {
    const { keys, quota } = this.#workspaces;
    const header = request.header('authorization');
    const token = header === undefined ? undefined : bearerPattern.exec(header)?.[1];
    if (token === undefined || token.length > tokenLengthMax) {
      const why = header === undefined ? 'no API key is given' : 'the header is malformed';
      return this.#withoutKey(request, access, why);
    }
    let verified;
    try {
      verified = await keys.verify(token);
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'unauthorized') throw error;
      return this.#withoutKey(request, access, 'the API key is not valid');
    }
    const { actor, limits } = verified;
    const rate = quota.take(actor.workspaceNo, limits);
    return { rate, actor, failure: refusal(rate) ?? roleFailure(actor, access) };
  }

  /** Counts a request that is turned away before anybody looked at its key. */
  turnAway(request: Request): QuotaAnswer {
    return this.#workspaces.ipQuota.take(request.clientAddress);
  }

  #withoutKey(request: Request, access: Access, why: string): Admission {
    const rate = this.#workspaces.ipQuota.take(request.clientAddress);
    const unauthorized = new Failure(
      'unauthorized',
      `Cannot authenticate: ${why}, expected Authorization: Bearer <API key>`,
    );
    const failure = refusal(rate) ?? (access === 'public' ? undefined : unauthorized);
    return { rate, actor: undefined, failure };
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

function roleFailure(actor: Actor, access: Access): Failure | undefined {
  if (access === 'public' || roleAtLeast(actor.role, access)) return undefined;
  return new Failure('forbidden', `This key’s role is ${actor.role}, expected at least ${access}`);
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
