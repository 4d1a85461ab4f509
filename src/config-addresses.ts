/** Fills unset addresses from ports and the host name, before the configuration is checked. */
import { hostname } from 'node:os';

export type Json = { [key: string]: unknown };
export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

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

/** Without the default port of the scheme, for a shorter code. The schema reports an invalid port. */
function addressAt(host: string, { tlsCertFile, port }: Json): string {
  const isPort = Number.isInteger(port) && Number(port) > 0 && Number(port) <= 65_535;
  return new URL(`${tlsCertFile ? 'https' : 'http'}://${host}:${isPort ? Number(port) : ''}`)
    .origin;
}
