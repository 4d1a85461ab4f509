/** Addresses that are not set: filled in from ports and this machine's name, before the configuration is checked. */
import { hostname } from 'node:os';

export type Json = { [key: string]: unknown };
export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Public addresses lead to the ports, so that every printed address opens. */
export function fillAddresses(config: Json): void {
  const { api, redirect, cluster } = config;
  if (!isObject(api) || !isObject(redirect) || !isObject(cluster)) return;
  if (api['publicUrl'] === '') api['publicUrl'] = addressAt('localhost', api);
  if (config['shortUrlBase'] === '') config['shortUrlBase'] = addressAt('localhost', redirect);
  const host = hostname() || 'localhost';
  const [label = ''] = host.split('.');
  if (cluster['nodeName'] === '') cluster['nodeName'] = label.replaceAll(/[^A-Za-z0-9_-]/g, '-');
  if (cluster['advertiseUrl'] === '') cluster['advertiseUrl'] = addressAt(host, api);
}

/** An origin leaves out the default port of its scheme: a shorter code. A bad port is told by the schema. */
function addressAt(host: string, { tlsCertFile, port }: Json): string {
  const isPort = Number.isInteger(port) && Number(port) > 0 && Number(port) <= 65_535;
  return new URL(`${tlsCertFile ? 'https' : 'http'}://${host}:${isPort ? Number(port) : ''}`)
    .origin;
}
