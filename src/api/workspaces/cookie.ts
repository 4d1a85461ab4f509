/**
 * The session cookie: HttpOnly, SameSite=Lax, for this host alone. Over https it is Secure and has the prefix `__Host-`,
 * which browsers refuse from subdomains and plain connections.
 *
 * A request that changes something must also prove that a page of this service sent it: by the CSRF token, and by its
 * origin if the browser names one.
 */
import type { Request } from '../../platform/uws/request.ts';
import { csrfMatches, type Session, sessionMsMax } from '../../product/workspaces/sessions.ts';

const plainName = 'quietzone';
const millisecondsPerSecond = 1_000;

export class SessionCookie {
  readonly name: string;
  readonly #attributes: string;
  readonly #origin: string;

  /** @param publicUrl the API's public address */
  constructor(publicUrl: string) {
    const { protocol, origin } = new URL(publicUrl);
    const isSecure = protocol === 'https:';
    this.name = isSecure ? `__Host-${plainName}` : plainName;
    this.#attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
    this.#origin = origin;
  }

  /** Possible secrets of the session: another host of the domain can add cookies of this name. */
  read(request: Request): string[] {
    const parts = request.header('cookie')?.split(/[;,]/) ?? [];
    return parts.flatMap((part) => {
      const at = part.indexOf('=');
      return at > 0 && part.slice(0, at).trim() === this.name ? [part.slice(at + 1).trim()] : [];
    });
  }

  /** The value of Set-Cookie that begins a session. */
  begin(secret: string): string {
    const maxAge = sessionMsMax / millisecondsPerSecond;
    return `${this.name}=${secret}; Max-Age=${maxAge}; ${this.#attributes}`;
  }

  /** The value of Set-Cookie that removes it. */
  end(): string {
    return `${this.name}=; Max-Age=0; ${this.#attributes}`;
  }

  /** Why a request that changes something under a session is a forgery; undefined if it is not. */
  forgery(request: Request, session: Session): string | undefined {
    const site = request.header('sec-fetch-site');
    if (site !== undefined && site !== 'same-origin' && site !== 'none') {
      return 'it comes from another site';
    }
    const origin = request.header('origin');
    if (origin !== undefined && origin !== this.#origin && hostOf(origin) !== hostHeader(request)) {
      return 'its Origin is another one';
    }
    const token = request.header('x-csrf-token');
    if (token === undefined) return 'X-CSRF-Token is missing';
    return csrfMatches(session, token) ? undefined : 'X-CSRF-Token is not this session’s';
  }
}

/** The dashboard may be opened by another name of this host than the configured one. */
function hostHeader(request: Request): string {
  return request.header('host')?.toLowerCase() ?? '';
}

function hostOf(origin: string): string | undefined {
  return URL.parse(origin)?.host;
}
