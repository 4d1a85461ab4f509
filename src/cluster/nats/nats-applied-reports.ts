/**
 * Reports of what standbys have applied, over NATS without a stream: one that is lost is made good by the next.
 *
 *   <subject>   [node, epoch, n]   msgpack
 */
import { packPlain } from '../../store/codec.ts';
import type { Applied, AppliedReports } from '../log/applied-reports.ts';
import { isCount, readFields } from '../message-fields.ts';
import type { NatsConnection } from './nats-connection.ts';

export interface NatsAppliedReportsOptions {
  readonly connection: NatsConnection;
  readonly subject: string;
  /** Of this machine: NATS also delivers its own reports to it, which are dropped. */
  readonly nodeName: string;
}

export class NatsAppliedReports implements AppliedReports {
  readonly #options: NatsAppliedReportsOptions;

  constructor(options: NatsAppliedReportsOptions) {
    this.#options = options;
  }

  report({ epoch, n }: Applied): void {
    const { connection, subject, nodeName } = this.#options;
    connection.publish(subject, packPlain([nodeName, epoch, n]));
  }

  listen(listener: (applied: Applied) => void): () => void {
    const { connection, subject, nodeName } = this.#options;
    return connection.subscribe(subject, (bytes) => {
      const report = readReport(bytes);
      if (report !== undefined && report.nodeName !== nodeName) listener(report);
    });
  }
}

/** @returns undefined for what is no report */
function readReport(bytes: Uint8Array): (Applied & { readonly nodeName: string }) | undefined {
  const [nodeName, epoch, n] = readFields(bytes) ?? [];
  if (typeof nodeName !== 'string' || !isCount(epoch) || !isCount(n)) return undefined;
  return { nodeName, epoch, n };
}
