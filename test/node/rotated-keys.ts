/** `quietzone keys rotate-signing` in a cluster of processes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { word } from '../support/client.ts';
import { runCommand } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import type { StartedCluster, TestNode } from './started-cluster.ts';

const secretsOf = ({ dataDir }: TestNode): string =>
  readFileSync(join(dataDir, 'signing-keys.json'), 'utf8');

export async function haveSameSecrets([one, other]: readonly TestNode[]): Promise<void> {
  await expect.poll(() => secretsOf(other!), soon).toBe(secretsOf(one!));
}

async function rotate(node: TestNode): Promise<string> {
  const { stdout, stderr } = await runCommand(['keys', 'rotate-signing'], node.environment);
  expect(stderr).toBe('');
  return stdout;
}

async function makeKey(node: TestNode, key: string): Promise<string> {
  const client = node.client(key);
  const made = await client.call('POST', '/v1/api-keys', { body: { name: 'k', role: 'owner' } });
  await client.close();
  expect(made.status).toBe(201);
  return word(made.json['key']);
}

const kidOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()).kid;

/** By way of the standby. @returns an API key that the new secret has signed */
export async function rotateOnAll(cluster: StartedCluster, key: string): Promise<string> {
  const [leading, standby] = await cluster.roles();
  const text = await rotate(standby);
  const kid = /^New API keys are signed with (\S+) from now on, on every core/.exec(text)?.[1];
  const made = await makeKey(leading, key);
  expect(kidOf(made)).toBe(kid);
  await haveSameSecrets([leading, standby]);
  return made;
}

/** @returns an API key that the new secret has signed */
export async function rotateAlone(leading: TestNode, key: string): Promise<string> {
  await expect.poll(() => rotate(leading), soon).toMatch(/Not connected now: core-\d; it has/);
  return await makeKey(leading, key);
}

/** As the core does that leads now. */
export async function signsAs(leading: TestNode, key: string): Promise<void> {
  expect(kidOf(await makeKey(leading, key))).toBe(kidOf(key));
}
