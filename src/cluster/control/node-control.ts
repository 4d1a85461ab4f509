/**
 * What the other machines ask a core on the port of its API, each with a proof (machine-proof.ts). It is never forwarded.
 *
 *   GET  /cluster/copy      -> all data of this core (copy/copy-sender.ts)
 *   POST /cluster/command   a command -> its result, in the lines of app/upgrade/messages.ts
 */
import { request as sendRequest } from 'undici';
import { problemReply } from '../../api/kernel/problem.ts';
import { resultOf } from '../../app/commands/ask-service.ts';
import type { CommandTable } from '../../app/commands/command-table.ts';
import { runCommand } from '../../app/commands/host-commands.ts';
import { commandBytesMax, lineOf, type Message, parseMessage } from '../../app/upgrade/messages.ts';
import type { Reply, Request } from '../../platform/uws/request.ts';
import { Failure, messageOf } from '../../model/failure.ts';
import type { Logger } from '../../platform/log.ts';
import { copyPath, refusalOf } from '../copy/copy-download.ts';
import type { MachineProof } from '../machine-proof.ts';

const commandPath = '/cluster/command';

export interface NodeControlOptions {
  readonly proof: MachineProof;
  /** @throws Failure overloaded */
  readonly copy: () => Reply;
  /** Those that this core runs for others. */
  readonly commands: () => CommandTable;
  /** Where problems are explained. */
  readonly docsUrl: string;
  readonly log: Logger;
}

export class NodeControl {
  readonly #options: NodeControlOptions;

  constructor(options: NodeControlOptions) {
    this.#options = options;
  }

  /** Undefined for a request to another path. */
  reply(request: Request): Promise<Reply> | undefined {
    const { method, path } = request;
    const { copy } = this.#options;
    if (method === 'GET' && path === copyPath) return this.#proven(request, async () => copy());
    if (method !== 'POST' || path !== commandPath) return undefined;
    request.limitBody(commandBytesMax);
    return this.#proven(request, () => this.#run(request));
  }

  async #proven(request: Request, answer: () => Promise<Reply>): Promise<Reply> {
    const { proof, docsUrl, log } = this.#options;
    try {
      if (proof.isFromMachine(request)) return await answer();
      throw new Failure(
        'unauthorized',
        'Cannot answer this: expected a signature with cluster.secret (QZ_CLUSTER_SECRET), by a clock of about this time',
      );
    } catch (error) {
      if (error instanceof Failure) return problemReply(error, request, docsUrl);
      log.error({ err: error, requestId: request.id }, 'request failed');
      return problemReply(new Failure('outcome_unknown', messageOf(error)), request, docsUrl);
    }
  }

  async #run(request: Request): Promise<Reply> {
    const { commands, log } = this.#options;
    const message = parseMessage(Buffer.from(await request.body()).toString());
    if (message?.type !== 'command') throw new Failure('bad_request', 'Expected a command');
    const control = { progress: () => undefined, signal: new AbortController().signal };
    const answer = await runCommand(commands(), message, control, log);
    const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
    return { status: 200, headers, body: lineOf(answer) };
  }
}

export interface AskedCore {
  /** Of its API. */
  readonly url: string;
  readonly proof: Pick<MachineProof, 'headersOf'>;
  readonly signal: AbortSignal;
}

/**
 * Runs a command on another core.
 * @throws Failure, DataFolderError as the command failed, or if it was not accepted; another Error if no answer came
 */
export async function askCore(
  { url, proof, signal }: AskedCore,
  command: Message<'command'>,
): Promise<unknown> {
  const target = { method: 'POST', path: commandPath };
  const { statusCode, body } = await sendRequest(new URL(commandPath, url), {
    method: 'POST',
    headers: proof.headersOf(target),
    body: lineOf(command),
    signal,
  });
  const text = await body.text();
  const message = statusCode === 200 ? parseMessage(text) : undefined;
  if (message?.type === 'result' || message?.type === 'failed') return resultOf(message);
  throw new Failure('not_active', refusalOf(statusCode, text));
}
