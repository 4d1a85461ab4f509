/**
 * What went wrong with a request, as the API's problem document says it (RFC 9457), or as the browser
 * does when there is no answer at all.
 */
export interface FieldFault {
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

export interface ProblemDocument {
  readonly status?: number;
  readonly title?: string;
  readonly detail?: string;
  readonly code?: string;
  readonly requestId?: string;
  readonly errors?: readonly FieldFault[];
}

export class Problem extends Error {
  override readonly name = 'Problem';
  /** 0 = there was no answer. */
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  readonly faults: readonly FieldFault[];
  /** Seconds after which the same request may go well. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, document: ProblemDocument, retryAfterSeconds?: number) {
    super(document.detail ?? document.title ?? 'The service gave an answer that cannot be read.');
    this.status = status;
    this.code = document.code ?? 'unknown';
    this.requestId = document.requestId;
    this.faults = document.errors ?? [];
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** The fault of one field of a form. */
  faultOf(path: string): string | undefined {
    return this.faults.find((fault) => fault.path === path)?.message;
  }
}

export const unreachable = (): Problem =>
  new Problem(0, {
    code: 'unreachable',
    detail: 'The service cannot be reached. Check your connection; nothing is lost.',
  });

/** Whatever was thrown, as a problem. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new Problem(0, { code: 'defect', detail: `The dashboard failed: ${detail}` });
}
