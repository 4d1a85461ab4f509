/**
 * The one door to the API: cookies come along by themselves, the CSRF token goes with whatever changes
 * something, and every refusal becomes a `Problem`. What the limits leave is kept for whoever polls.
 */
import { signal } from '@preact/signals';
import { Problem, type ProblemDocument, unreachable } from './problem.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

export interface CallOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, with its `Content-Type`. */
  readonly raw?: { readonly data: Blob | string; readonly type: string };
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

/** Of the session; sent with what changes something. */
let csrfToken = '';
export function setCsrfToken(token: string | undefined): void {
  csrfToken = token ?? '';
}

/** Requests that the window which binds now allows in all and leaves. */
export const quota = signal<{ readonly limit: number; readonly remaining: number } | undefined>(
  undefined,
);

/** Requests a minute up to which none is spent on what can wait. */
const scarceLimit = 60;
export const isScarce = (): boolean => (quota.value?.limit ?? Infinity) <= scarceLimit;

/** Called when the session has ended: the shell then shows the sign-in. */
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

/** The answer itself: for images, exports and streams. @throws Problem */
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
  noteQuota(response);
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

function noteQuota({ headers }: Response): void {
  const limit = Number(headers.get('X-RateLimit-Limit') ?? NaN);
  const remaining = Number(headers.get('X-RateLimit-Remaining') ?? NaN);
  if (Number.isFinite(limit) && Number.isFinite(remaining)) quota.value = { limit, remaining };
}

async function problemIn(response: Response): Promise<Problem> {
  const retryAfter = Number(response.headers.get('Retry-After') ?? NaN);
  const seconds = Number.isFinite(retryAfter) ? retryAfter : undefined;
  let document: ProblemDocument;
  try {
    document = await response.json();
  } catch {
    document = { detail: `The service answered ${response.status} without saying why.` };
  }
  return new Problem(response.status, document, seconds);
}
