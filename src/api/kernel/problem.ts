/**
 * Failures as RFC 9457 problem details: the only mapping of failures to HTTP.
 * `detail` and `errors` come from the failure; a defect shows only its request id.
 */
import type { Failure, FailureCode } from '../../model/failure.ts';
import type { Reply, Request } from '../../platform/uws/request.ts';

export type ProblemCode = FailureCode | 'internal_error';

interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** For the guide api.md: when it happens and what to do. */
  readonly meaning: string;
}

export const problemKinds: Readonly<Record<ProblemCode, ProblemKind>> = {
  bad_request: {
    status: 400,
    title: 'Bad request',
    meaning: 'The HTTP message itself is ambiguous or malformed. The connection is closed.',
  },
  invalid_json: {
    status: 400,
    title: 'Invalid JSON',
    meaning: 'The body is not JSON in UTF-8, repeats a key, or nests deeper than 32 levels.',
  },
  invalid_signature: {
    status: 400,
    title: 'Invalid signature',
    meaning: 'The signature of the body is wrong or too old.',
  },
  unauthorized: {
    status: 401,
    title: 'Unauthorized',
    meaning: 'The API key is missing, malformed, expired or revoked.',
  },
  plan_required: {
    status: 402,
    title: 'Plan required',
    meaning: 'The workspace’s plan does not include this.',
  },
  forbidden: {
    status: 403,
    title: 'Forbidden',
    meaning: 'The key’s role may not do this.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    meaning: 'There is no such thing in this workspace.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path exists, the method does not. Allow lists those that do.',
  },
  request_timeout: {
    status: 408,
    title: 'Request timeout',
    meaning: 'Neither the body nor 64 KiB of it arrived within 10 s. The connection is closed.',
  },
  conflict: {
    status: 409,
    title: 'Conflict',
    meaning: 'The request contradicts the present state.',
  },
  slug_taken: {
    status: 409,
    title: 'Slug taken',
    meaning: 'The custom short code is, or once was, in use. Codes are never given out twice.',
  },
  external_id_taken: {
    status: 409,
    title: 'External id taken',
    meaning: 'Another code of the workspace has this `externalId`.',
  },
  static_code: {
    status: 409,
    title: 'Static code',
    meaning: 'A static code holds its target in the picture: it cannot be changed.',
  },
  labels_exhausted: {
    status: 409,
    title: 'Labels exhausted',
    meaning:
      'A code can have 58 labels of rules and variants with scans in its life. Reuse one, or make another code.',
  },
  idempotency_conflict: {
    status: 409,
    title: 'Idempotency conflict',
    meaning: 'The Idempotency-Key was used with another request in the last 24 hours.',
  },
  checkout_required: {
    status: 409,
    title: 'Checkout required',
    meaning: 'Higher limits or a higher price need the operator: start a checkout for them.',
  },
  billing_disabled: {
    status: 409,
    title: 'Billing disabled',
    meaning: 'This installation sells no plans: its operator sets them.',
  },
  gone: {
    status: 410,
    title: 'Gone',
    meaning: 'It existed and was deleted.',
  },
  precondition_failed: {
    status: 412,
    title: 'Precondition failed',
    meaning: 'The code has changed since the answer whose ETag If-Match names. Get it again.',
  },
  body_too_large: {
    status: 413,
    title: 'Body too large',
    meaning: 'The body is larger than the service accepts.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'Send the body as Content-Type: application/json.',
  },
  validation_failed: {
    status: 422,
    title: 'Validation failed',
    meaning: 'Something in the request is not acceptable; errors lists every fault with its path.',
  },
  unscannable: {
    status: 422,
    title: 'Unscannable',
    meaning: 'A camera could not read the image this would make.',
  },
  rate_limited: {
    status: 429,
    title: 'Rate limited',
    meaning:
      'The minute’s requests are used up. Retry-After counts the seconds to the next minute.',
  },
  daily_cap_reached: {
    status: 429,
    title: 'Daily cap reached',
    meaning: 'The day’s requests are used up. Retry-After counts the seconds to the next UTC day.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    meaning: 'A defect of the service. The operator finds it in the log by requestId.',
  },
  overloaded: {
    status: 503,
    title: 'Overloaded',
    meaning: 'Too much work is waiting. Try again after Retry-After.',
  },
  data_damaged: {
    status: 503,
    title: 'Data damaged',
    meaning:
      'A stored record is damaged and is not used. The operator finds its place in the log and runs quietzone verify.',
  },
  not_active: {
    status: 503,
    title: 'Not active',
    meaning: 'The cluster has no machine that may make changes now. Try again after Retry-After.',
  },
  outcome_unknown: {
    status: 503,
    title: 'Outcome unknown',
    meaning:
      'The cluster did not confirm the change in time: it may have been made, or still be made. A POST that you ' +
      'send again with the same Idempotency-Key takes effect once.',
  },
  storage_full: {
    status: 507,
    title: 'Storage full',
    meaning: 'The data folder is full or not writable; nothing was changed.',
  },
};

export const problemMediaType = 'application/problem+json';

/** A reply whose body is text. */
export type TextReply = Reply & { readonly body: string };

/** @param docsUrl address of /docs, where the guide api.md has a row for each code */
export function problemReply(failure: Failure, request: Request, docsUrl: string): TextReply {
  const { code, message, faults, retryAfterSeconds } = failure;
  return reply(problemOf(code, message, request.id, docsUrl, faults), {
    ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
    ...(code === 'unauthorized' && { 'WWW-Authenticate': 'Bearer realm="quietzone"' }),
  });
}

/** @param allow the methods of the path, as in the Allow header */
export function otherMethodReply(
  { id, method }: Request,
  allow: string,
  docsUrl: string,
): TextReply {
  const detail = `Cannot ${method} this, expected ${allow}`;
  return reply(problemOf('method_not_allowed', detail, id, docsUrl), { Allow: allow });
}

/** The answer to a defect. Its cause is only in the log. */
export function defectReply({ id }: Request, docsUrl: string): TextReply {
  const detail = `The service failed; its log has the cause under ${id}`;
  return reply(problemOf('internal_error', detail, id, docsUrl));
}

/** A stored problem as the answer to this request, with its request id. */
export function replayedProblem(reply: Reply, request: Request): Reply {
  if (reply.headers['Content-Type'] !== problemMediaType || typeof reply.body !== 'string') {
    return reply;
  }
  const problem: Readonly<Record<string, unknown>> = JSON.parse(reply.body);
  return { ...reply, body: JSON.stringify({ ...problem, requestId: request.id }) };
}

/** The body of a problem, for answers and for their samples in the document. */
export function problemOf(
  code: ProblemCode,
  detail: string,
  requestId: string,
  docsUrl: string,
  errors: Failure['faults'] = [],
) {
  const { status, title } = problemKinds[code];
  const type = `${docsUrl}/api#${code}`;
  return { type, title, status, detail, code, requestId, ...(errors.length > 0 && { errors }) };
}

function reply(
  problem: ReturnType<typeof problemOf>,
  extra: Readonly<Record<string, string>> = {},
): TextReply {
  const headers = { 'Content-Type': problemMediaType, 'Cache-Control': 'no-store', ...extra };
  return { status: problem.status, headers, body: JSON.stringify(problem) };
}
