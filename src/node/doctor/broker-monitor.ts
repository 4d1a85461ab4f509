/** What a broker on this machine reports at its monitoring port, and to no client. */
export interface MonitorSeen {
  readonly serverId: string;
  /** Each write is on the disk before it is acknowledged. */
  readonly isSyncAlways: boolean;
  readonly syncSeconds: number;
  /** Share of its JetStream's storage that is used; undefined where it does not say. */
  readonly storageUsed: number | undefined;
  /** Brokers of its JetStream; 1 for one alone; undefined where it does not say. */
  readonly clusterSize: number | undefined;
}

const answerMsMax = 1_000;

/** Undefined where none answers there. */
export async function askMonitor(url: string): Promise<MonitorSeen | undefined> {
  try {
    const [server, jetStream] = await Promise.all([read(`${url}/varz`), read(`${url}/jsz`)]);
    const settings = objectAt(objectAt(server, 'jetstream'), 'config');
    const group = Reflect.get(objectAt(jetStream, 'meta_cluster'), 'cluster_size');
    const isAlone = Reflect.get(objectAt(server, 'cluster'), 'name') === undefined;
    return {
      serverId: String(Reflect.get(server, 'server_id')),
      isSyncAlways: Reflect.get(settings, 'sync_always') === true,
      syncSeconds: Math.round(Number(Reflect.get(settings, 'sync_interval') ?? 0) / 1e9),
      storageUsed: shareOf(Reflect.get(jetStream, 'storage'), jetStream),
      clusterSize: typeof group === 'number' ? group : isAlone ? 1 : undefined,
    };
  } catch {
    return undefined;
  }
}

async function read(url: string): Promise<object> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(answerMsMax) });
  return Object(await answer.json());
}

function shareOf(storage: unknown, jetStream: object): number | undefined {
  const max = Number(Reflect.get(objectAt(jetStream, 'config'), 'max_storage'));
  return typeof storage === 'number' && max > 0 ? storage / max : undefined;
}

const objectAt = (value: object, name: string): object => Object(Reflect.get(value, name));
