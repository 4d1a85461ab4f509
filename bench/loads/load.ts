/** What a load generator is asked for and what it reports. */
import type { LoadRequest } from './requests.ts';

export interface LoadSpec {
  readonly port: number;
  /** Absent: `http:`. No certificate is refused. */
  readonly scheme?: 'https:' | undefined;
  readonly method: 'GET' | 'HEAD';
  readonly requests: readonly LoadRequest[];
  readonly connections: number;
  /** A generator that takes whole seconds rounds up. */
  readonly seconds: number;
  /** Requests a second that are offered; absent = as many as are answered. */
  readonly rate?: number;
}

export interface Generator {
  readonly name: string;
  run(spec: LoadSpec): Promise<LoadResult>;
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Answers that were no redirect, and requests without an answer. */
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}
