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
    meaning:
      'The HTTP message is ambiguous or malformed. The service closes the connection. Check your HTTP client and proxy.',
  },
  invalid_json: {
    status: 400,
    title: 'Invalid JSON',
    meaning: 'The body is not JSON in UTF-8, repeats a key, or nests deeper than 32 levels.',
  },
  invalid_signature: {
    status: 400,
    title: 'Invalid signature',
    meaning:
      'The signature of the body is wrong or too old. Check the secret and the clock of the sender.',
  },
  unauthorized: {
    status: 401,
    title: 'Unauthorized',
    meaning:
      'The API key is missing, malformed, expired or revoked. Send a valid key: `Authorization: Bearer eyJ…`.',
  },
  plan_required: {
    status: 402,
    title: 'Plan required',
    meaning: 'The plan of the workspace does not include this. Choose a higher plan.',
  },
  forbidden: {
    status: 403,
    title: 'Forbidden',
    meaning:
      'The role of the key does not allow this. Use a key with the role that the operation needs.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    meaning: 'The workspace does not have this resource, or the API does not have this path.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path exists, but not with this method. `Allow` lists its methods.',
  },
  request_timeout: {
    status: 408,
    title: 'Request timeout',
    meaning:
      'Neither the whole body nor 64 KiB of it arrived within 10 s. The service closes the connection. Send the request again.',
  },
  conflict: {
    status: 409,
    title: 'Conflict',
    meaning: 'The request contradicts the current state. `detail` names the conflict.',
  },
  slug_taken: {
    status: 409,
    title: 'Slug taken',
    meaning:
      'The custom short code is in use, or was in use once. Short codes are never reused: choose another one.',
  },
  external_id_taken: {
    status: 409,
    title: 'External id taken',
    meaning:
      'Another code of the workspace has this `externalId`. Choose another one, or find that code by it.',
  },
  static_code: {
    status: 409,
    title: 'Static code',
    meaning:
      'A static code contains its target in the image, so it cannot change. Create another code.',
  },
  labels_exhausted: {
    status: 409,
    title: 'Labels exhausted',
    meaning:
      'A code can have scans under at most 58 labels of rules and variants. Reuse a label, or create another code.',
  },
  idempotency_conflict: {
    status: 409,
    title: 'Idempotency conflict',
    meaning:
      'Another request used this `Idempotency-Key` in the last 24 hours. Send this one with a new key.',
  },
  checkout_required: {
    status: 409,
    title: 'Checkout required',
    meaning: 'Higher limits or a higher price need the operator. Start a checkout for them.',
  },
  billing_disabled: {
    status: 409,
    title: 'Billing disabled',
    meaning: 'This installation sells no plans. Ask its operator to set the plan.',
  },
  gone: {
    status: 410,
    title: 'Gone',
    meaning: 'The resource existed and was deleted.',
  },
  precondition_failed: {
    status: 412,
    title: 'Precondition failed',
    meaning:
      'The code changed after the answer whose `ETag` you sent as `If-Match`. Get it again, and repeat your change.',
  },
  body_too_large: {
    status: 413,
    title: 'Body too large',
    meaning: 'The body is larger than the operation accepts. Send less, or several requests.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'The operation does not take this `Content-Type`. Send `application/json`.',
  },
  validation_failed: {
    status: 422,
    title: 'Validation failed',
    meaning: 'The request has faults. `errors` lists each of them with its path.',
  },
  unscannable: {
    status: 422,
    title: 'Unscannable',
    meaning: 'A camera could not read the image. Follow the advice in `errors`.',
  },
  rate_limited: {
    status: 429,
    title: 'Rate limited',
    meaning:
      'The requests of this minute are used up. Try again after the seconds in `Retry-After`.',
  },
  daily_cap_reached: {
    status: 429,
    title: 'Daily cap reached',
    meaning:
      'The requests of this UTC day are used up. Try again after the seconds in `Retry-After`.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    meaning: 'The service has a defect. The operator finds the cause in the log by `requestId`.',
  },
  overloaded: {
    status: 503,
    title: 'Overloaded',
    meaning: 'Too much work is waiting. Try again after the seconds in `Retry-After`.',
  },
  data_damaged: {
    status: 503,
    title: 'Data damaged',
    meaning:
      'A stored record is damaged, and the service does not use it. The operator finds it in the log, and runs `quietzone verify`.',
  },
  not_active: {
    status: 503,
    title: 'Not active',
    meaning:
      'No machine of the cluster can make changes now. Try again after the seconds in `Retry-After`.',
  },
  outcome_unknown: {
    status: 503,
    title: 'Outcome unknown',
    meaning:
      'The cluster did not confirm the change in time, and may still make it. Send a POST again with the same `Idempotency-Key`: it takes effect once.',
  },
  storage_full: {
    status: 507,
    title: 'Storage full',
    meaning:
      'The data folder is full or not writable, and the service changed nothing. The operator frees space.',
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
