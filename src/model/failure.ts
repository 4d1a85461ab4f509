/**
 * Expected failures: a closed set, mapped to HTTP in `api/kernel/problem.ts`. Every other exception is a defect: logged, answered
 * with 500, and not described to the client.
 */
export type FailureCode =
  | 'bad_request'
  | 'invalid_json'
  | 'invalid_signature'
  | 'unauthorized'
  | 'plan_required'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'conflict'
  | 'slug_taken'
  | 'external_id_taken'
  | 'static_code'
  | 'labels_exhausted'
  | 'idempotency_conflict'
  | 'checkout_required'
  | 'billing_disabled'
  | 'gone'
  | 'precondition_failed'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'validation_failed'
  | 'unscannable'
  | 'rate_limited'
  | 'daily_cap_reached'
  | 'overloaded'
  | 'data_damaged'
  | 'not_active'
  | 'outcome_unknown'
  | 'storage_full';

/** A path contains names that a client chose. */
export const faultPathLengthMax = 200;

/** A fault of a request: path (`target`, `tags.3`), a stable code, and a sentence for a person. */
export interface Fault {
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

export class Failure extends Error {
  override readonly name = 'Failure';
  readonly code: FailureCode;
  readonly faults: readonly Fault[];
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: FailureCode,
    detail: string,
    more: { readonly faults?: readonly Fault[]; readonly retryAfterSeconds?: number } = {},
  ) {
    super(detail);
    this.code = code;
    this.faults = more.faults ?? [];
    this.retryAfterSeconds = more.retryAfterSeconds;
  }
}

export function notFound(what: string): Failure {
  return new Failure('not_found', `There is no ${what} with this id`);
}

export const dataDamaged = (detail: string): Failure => new Failure('data_damaged', detail);
export const isDamage = (error: unknown): error is Failure =>
  error instanceof Failure && error.code === 'data_damaged';

export function readOr<T, D>(read: () => T, instead: D): T | D {
  try {
    return read();
  } catch (error) {
    if (isDamage(error)) return instead;
    throw error;
  }
}

/** A request with one fault, whose message is also the detail. */
export function invalid(path: string, code: string, message: string): Failure {
  return new Failure('validation_failed', message, { faults: [{ path, code, message }] });
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** The code of a system error (`ENOENT`, `EACCES`, …), else its message. */
export function systemErrorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : messageOf(error);
}
