/** What a node of a cluster knows before its data folder is open. */
import type { Leader } from '../log/entry.ts';
import { Beats, type BeatsOptions } from '../nodes/beats.ts';
import { NodeError } from '../nodes/node-error.ts';
import { beginNats, type NatsConnection, type NatsOptions } from '../nats/nats-connection.ts';
import type { Config } from '../../platform/config/config.ts';
import { messageOf } from '../../model/failure.ts';
import { createIdSource } from '../../model/ids.ts';
import type { Machine } from '../../app/modules.ts';
import { shipped } from '../../platform/shipped.ts';
import { systemSteadyClock, systemTimers } from '../../platform/system-clock.ts';
import type { Logger } from '../../platform/log.ts';

export interface NodeContext {
  readonly config: Config;
  readonly log: Logger;
  readonly machine: Machine;
  /** The caller of `connectNode` closes it. */
  readonly connection: NatsConnection;
  /** For further connections. */
  readonly nats: NatsOptions;
  /** Id of this run of the process. Of two processes, the later one has the higher id. */
  readonly instance: string;
  /** Of the kernel; empty where it has none. */
  readonly boot: string;
  /** Aborted when the process is to stop: a start that waits for others ends. */
  readonly stopping: AbortSignal;
  /** This process, where it leads. */
  readonly self: Leader;
  /** Why this node must stop: the first reason is logged. @param detail a sentence for the operator */
  readonly fail: (detail: string) => void;
  /** Resolves when there is a reason. */
  readonly failed: Promise<void>;
}

/** Dials the brokers; nothing waits for them. @throws NodeError where an address or the credentials are wrong */
export function connectNode(
  config: Config,
  log: Logger,
  machine: Machine,
  stopping: AbortSignal = new AbortController().signal,
): NodeContext {
  const { nodeName, advertiseUrl: url } = config.cluster;
  const nats = natsOptionsOf(config);
  const instance = createIdSource(machine.clock, machine.randomBytes).newId('n');
  const self = { owner: `${nodeName}.${instance}`, url, version: shipped.version };
  const boot = systemSteadyClock.bootId;
  const connection = dial(nats);
  const known = { config, log, machine, connection, nats, instance, boot, stopping, self };
  return { ...known, ...failing(log) };
}

function failing(log: Logger): Pick<NodeContext, 'fail' | 'failed'> {
  const { promise: failed, resolve } = Promise.withResolvers<void>();
  let isFailed = false;
  const fail = (detail: string): void => {
    if (!isFailed) log.fatal({ detail }, 'this node of the cluster stops');
    isFailed = true;
    resolve();
  };
  return { fail, failed };
}

/** The heartbeats of this node, which begin when it redirects. @param registered as in BeatsOptions */
export function createBeats(
  { config, connection, instance, self, fail: onDouble }: NodeContext,
  registered?: BeatsOptions['registered'],
): Beats {
  const { nodeName: name, role } = config.cluster;
  const url = role === 'edge' ? '' : self.url;
  const start = { name, instance, role, redirects: role !== 'core', url, version: self.version };
  return new Beats({ connection, timers: systemTimers, self: start, registered, onDouble });
}

export function natsOptionsOf({ cluster }: Config): NatsOptions {
  const { nats: servers, nodeName, credsFile } = cluster;
  return {
    servers,
    nodeName,
    ...(credsFile !== '' && { credsFile }),
  };
}

function dial(options: NatsOptions): NatsConnection {
  try {
    return beginNats(options);
  } catch (error) {
    throw new NodeError(messageOf(error));
  }
}
