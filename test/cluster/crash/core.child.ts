/** A core's process, without its service: a data file, the log, and what its parent orders. */
import { setTimeout as pause } from 'node:timers/promises';
import { EnvironmentStore } from '../../../src/cluster/log/environment-store.ts';
import { openNats, type NatsConnection } from '../../../src/cluster/nats/nats-connection.ts';
import { NatsLog } from '../../../src/cluster/nats/nats-log.ts';
import { LogReplicator } from '../../../src/cluster/log/replicator.ts';
import { Failure } from '../../../src/model/failure.ts';
import { StoreEnvironment } from '../../../src/store/environment.ts';
import { systemTimers } from '../../../src/system-clock.ts';
import {
  statusOf,
  type Answer,
  type CoreMessage,
  type CoreSettings,
  type Order,
  stream,
  subject,
} from './messages.ts';
import { Tables, ThrownError } from './tables.ts';

/** The service has no settings for these yet. */
const leaseMs = 3_000;
const beatMs = 500;
const dialAgainMs = 250;

const settings: CoreSettings = JSON.parse(process.argv[2]!);
const say = (message: CoreMessage): void => void process.send!(message);

process.on('disconnect', () => process.exit(1));
const environment = new StoreEnvironment(settings.dataFile, 'create');
const tables = new Tables(environment);
const store = new EnvironmentStore(environment);
let replicator: LogReplicator | undefined;
process.on('message', (order: Order) => {
  void answer(order).then((given) => say({ kind: 'answer', id: order.id, answer: given }));
});
if (!settings.isSingle) replicator = replicate(await connect());
say({ kind: 'open' });
if (replicator === undefined) say({ kind: 'leading', epoch: 0 });

/** Brokers may be away when it starts. */
async function connect(): Promise<NatsConnection> {
  for (;;) {
    try {
      return await openNats({ servers: settings.servers, nodeName: settings.name });
    } catch {
      await pause(dialAgainMs);
    }
  }
}

function replicate(connection: NatsConnection): LogReplicator {
  const replicating = new LogReplicator({
    log: new NatsLog({ connection, stream, subject }),
    store,
    self: { owner: settings.owner, url: `http://${settings.name}`, version: '1' },
    timers: systemTimers,
    random: Math.random,
    leaseMs,
    beatMs,
    onLeading: () => say({ kind: 'leading', epoch: replicating.status.position.epoch }),
    onDeposed: () => say({ kind: 'deposed' }),
    onStopped: (stop) => {
      process.send!({ kind: 'stopped', stop } satisfies CoreMessage, () => process.exit(1));
    },
  });
  environment.replicateWith(replicating);
  replicating.start();
  return replicating;
}

async function answer(order: Order): Promise<Answer> {
  try {
    if (order.kind === 'status') return { kind: 'status', status: status() };
    if (!settings.isSingle && replicator === undefined) {
      return { kind: 'refused', detail: 'it opens' };
    }
    if (order.kind === 'read') {
      replicator?.check();
      return done(tables.count);
    }
    return done(await environment.transaction(() => tables.run(order.write)));
  } catch (error) {
    if (error instanceof ThrownError) return { kind: 'thrown' };
    if (error instanceof Failure && error.code === 'not_active') {
      return { kind: 'refused', detail: error.message };
    }
    return { kind: 'failed', detail: error instanceof Error ? String(error.stack) : String(error) };
  }
}

function done(value: number): Answer {
  return { kind: 'done', value, epoch: replicator?.status.position.epoch ?? 0 };
}

function status() {
  const { ignored = 0, restarts = 0 } = replicator?.status ?? {};
  return statusOf(store.position(), { ignored, restarts });
}
