/**
 * The only access to the API. The browser sends the cookies, every change has the CSRF token, and an error is thrown as
 * a `Problem`.
 */
import { Problem, type ProblemDocument, unreachable } from './problem.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

export interface CallOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent unchanged, with its `Content-Type`. */
  readonly raw?: { readonly data: Blob | string; readonly type: string };
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

/** The session's CSRF token; sent with every change. */
let csrfToken = '';
export function setCsrfToken(token: string | undefined): void {
  csrfToken = token ?? '';
}

/** Called when the session has ended, to show the sign-in page. */
let onSignedOut: () => void = () => undefined;
export function whenSignedOut(callback: () => void): void {
  onSignedOut = callback;
}

/** @throws Problem */
export async function call<T>(method: Method, path: string, options: CallOptions = {}): Promise<T> {
  const response = await send(method, path, options);
  const answer: T = await response.json();
  return answer;
}

/** The whole response, for images, exports and streams. @throws Problem */
export async function send(
  method: Method,
  path: string,
  options: CallOptions = {},
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`/v1${path}`, {
      method,
      headers: headersOf(method, options),
      credentials: 'same-origin',
      ...bodyOf(options),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw unreachable();
  }
  if (response.ok) return response;
  const problem = await problemIn(response);
  if (problem.status === 401 && !path.startsWith('/auth/')) onSignedOut();
  throw problem;
}

function headersOf(method: Method, { body, raw, accept }: CallOptions): Record<string, string> {
  const headers: Record<string, string> = { Accept: accept ?? 'application/json' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (raw !== undefined) headers['Content-Type'] = raw.type;
  if (method !== 'GET') headers['X-CSRF-Token'] = csrfToken;
  return headers;
}

function bodyOf({ body, raw }: CallOptions): { body?: BodyInit } {
  if (raw !== undefined) return { body: raw.data };
  return body === undefined ? {} : { body: JSON.stringify(body) };
}

async function problemIn(response: Response): Promise<Problem> {
  const retryAfter = Number(response.headers.get('Retry-After') ?? NaN);
  const seconds = Number.isFinite(retryAfter) ? retryAfter : undefined;
  let document: ProblemDocument;
  try {
    document = await response.json();
  } catch {
    document = { detail: `The service answered ${response.status} without an explanation.` };
  }
  return new Problem(response.status, document, seconds);
}
