/** A failed request: the API's problem document (RFC 9457), or the browser's error without an answer. */
import { now } from './browser-clock.ts';

/** After a longer wait, the user decides. */
const retrySecondsMax = 61;

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
  /** 0 = no answer. */
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  readonly faults: readonly FieldFault[];
  /** Time when the same request may succeed, if the service named it and it is soon. */
  readonly retryAtMs: number | undefined;

  constructor(status: number, document: ProblemDocument, retryAfterSeconds?: number) {
    super(document.detail ?? document.title ?? 'Cannot read the service’s answer.');
    this.status = status;
    this.code = document.code ?? 'unknown';
    this.requestId = document.requestId;
    this.faults = document.errors ?? [];
    const isSoon = retryAfterSeconds !== undefined && retryAfterSeconds <= retrySecondsMax;
    const mayPass = status === 429 || status === 503;
    this.retryAtMs = isSoon && mayPass ? now() + retryAfterSeconds * 1_000 : undefined;
  }

  /** The fault of one field of a form. */
  faultOf(path: string): string | undefined {
    return this.faults.find((fault) => fault.path === path)?.message;
  }
}

export const unreachable = (): Problem =>
  new Problem(0, {
    code: 'unreachable',
    detail: 'Cannot reach the service. Check your connection and try again.',
  });

/** Any thrown value as a problem. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new Problem(0, { code: 'defect', detail: `The dashboard failed: ${detail}` });
}
