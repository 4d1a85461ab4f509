/** Brokers (config/demo/brokers.ts) on ports that no other test has. */
import {
  type Brokers,
  type BrokersOptions,
  type Place,
  startBrokers as startBrokersAt,
} from '../../../config/demo/brokers.ts';
import { freePorts } from '../../support/process.ts';

export interface Options extends Omit<BrokersOptions, 'places'> {
  readonly count: 1 | 3;
}

/** Starts them and waits until they are ready. */
export async function startBrokers({ count, ...options }: Options): Promise<Brokers> {
  return await startBrokersAt({ ...options, places: await freePlaces(count) });
}

async function freePlaces(count: number): Promise<readonly Place[]> {
  const places: Place[] = [];
  for (let no = 1; no <= count; no += 1) {
    const { api: client, redirect: route } = await freePorts();
    const { api: monitor } = await freePorts();
    places.push({ name: `n${no}`, client, route, monitor });
  }
  return places;
}
