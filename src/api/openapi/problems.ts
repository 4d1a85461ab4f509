/** Refusals in the document: one component for each set of codes that share a status. */
import { z } from 'zod';
import type {
  ZodOpenApiExampleObject,
  ZodOpenApiResponseObject,
  ZodOpenApiResponsesObject,
} from 'zod-openapi';
import type { FailureCode } from '../../model/failure.ts';
import { idPattern } from '../../model/ids.ts';
import { type ProblemCode, problemKinds, problemMediaType, problemOf } from '../kernel/problem.ts';
import { type AnswerHeader, headersOf } from './headers.ts';
import { pascalCase } from '../kernel/fields.ts';

/** One fault of a request. */
export const fault = z
  .object({
    path: z.string().meta({
      description: 'Path of the field: names and indexes joined by dots; empty = the whole',
      example: 'target',
    }),
    code: z.string().meta({ description: 'Stable: branch on it', example: 'required' }),
    message: z.string().meta({ description: 'For people', example: 'This is required' }),
  })
  .meta({ id: 'Fault', description: 'One fault of a request' });

const problem = z
  .object({
    type: z.string().meta({
      override: { format: 'uri' },
      description: 'Address of the error code’s description',
      example: 'http://localhost:8080/docs/api#validation_failed',
    }),
    title: z.string().meta({ description: 'The error code as text', example: 'Validation failed' }),
    status: z
      .int()
      .min(400)
      .max(599)
      .meta({ description: 'The status of the answer', example: 422 }),
    detail: z.string().meta({
      description: 'The cause as text',
      example: 'The body has one fault',
    }),
    code: z
      .enum(Object.keys(problemKinds))
      .meta({ description: 'Stable: branch on it', example: 'validation_failed' }),
    requestId: z.string().meta({
      override: { pattern: idPattern('req') },
      description: 'Names this request in the service’s log',
      example: 'req_01k3zq8m4hd2v7c5x9ab',
    }),
    errors: z.array(fault).optional().meta({ description: 'Every fault of the request at once' }),
  })
  .meta({ id: 'Problem', description: 'An error, as in RFC 9457' });

const statusHeaders: Readonly<Record<number, readonly AnswerHeader[]>> = {
  401: ['WWW-Authenticate'],
  404: ['Idempotent-Replayed'],
  409: ['Idempotent-Replayed'],
  410: ['Idempotent-Replayed'],
  422: ['Idempotent-Replayed'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};
/** What any address may answer. */
const otherCodes: readonly ProblemCode[] = [
  'bad_request',
  'method_not_allowed',
  'request_timeout',
  'body_too_large',
  'unsupported_media_type',
  'internal_error',
];
/** What any operation may answer beyond `default`. */
export const commonFailures: readonly FailureCode[] = [
  'unauthorized',
  'rate_limited',
  'daily_cap_reached',
  'overloaded',
  'not_active',
  'data_damaged',
  'outcome_unknown',
];
/** What an operation with a body may answer. */
export const bodyFailures: readonly FailureCode[] = [
  'invalid_json',
  'request_timeout',
  'body_too_large',
  'unsupported_media_type',
];
/** In names of components the status represents these. */
const briefCodes: readonly ProblemCode[] = ['not_found', 'idempotency_conflict', 'storage_full'];
/** The refusals of one document; each set of codes is the same component wherever it is asked for. */
export class ProblemResponses {
  readonly #made = new Map<string, ZodOpenApiResponseObject>();
  readonly #docsUrl: string;
  readonly #samples = new Map<ProblemCode, ZodOpenApiExampleObject>();

  /** @param docsUrl address of /docs */
  constructor(docsUrl: string) {
    this.#docsUrl = docsUrl;
  }

  /** One entry for each status, and `default` for what any address may answer. @param own of this operation */
  of(common: readonly FailureCode[], own: readonly FailureCode[]): ZodOpenApiResponsesObject {
    const byStatus = Map.groupBy(new Set([...common, ...own]), (code) => problemKinds[code].status);
    const brief = new Set<ProblemCode>([...common, ...briefCodes]);
    const entries = [...byStatus].map(([status, found]) => {
      const sorted = found.toSorted();
      const named = sorted.filter((code) => !brief.has(code)).map(pascalCase);
      const id = [...(named.length < sorted.length ? [status] : []), ...named].join('.');
      return [`${status}`, this.#response(id, sorted, statusHeaders[status] ?? [])];
    });
    const other = this.#response('Other', otherCodes, ['Allow', 'Retry-After']);
    return { ...Object.fromEntries(entries), default: other };
  }

  #response(
    id: string,
    found: readonly ProblemCode[],
    headers: readonly AnswerHeader[],
  ): ZodOpenApiResponseObject {
    const known = this.#made.get(id);
    if (known !== undefined) return known;
    const made = {
      id,
      description: found.map((code) => `\`${code}\`: ${problemKinds[code].meaning}`).join(' '),
      headers: headersOf(headers),
      content: {
        [problemMediaType]: {
          schema: problem,
          examples: Object.fromEntries(found.map((code) => [code, this.#sample(code)])),
        },
      },
    };
    this.#made.set(id, made);
    return made;
  }

  #sample(code: ProblemCode): ZodOpenApiExampleObject {
    const known = this.#samples.get(code);
    if (known !== undefined) return known;
    const { title } = problemKinds[code];
    const faults = code === 'validation_failed' ? [sampleFault] : [];
    const value = problemOf(code, title, 'req_01k3zq8m4hd2v7c5x9ab', this.#docsUrl, faults);
    const sample = { id: code, value };
    this.#samples.set(code, sample);
    return sample;
  }
}

const sampleFault = { path: 'target', code: 'required', message: 'This is required' };
