import { afterAll } from 'vitest';
import { Client, type Json, word } from './client.ts';
import { startTestApi, type TestApp } from './test-app.ts';
import type { TestAppOptions } from './test-app-options.ts';

/** The API of a test file, and a client with its owner's key. */
export interface TestApi {
  readonly service: TestApp;
  readonly client: Client;
  /** A code that is made over HTTP, of https://example.com/menu where the fields say nothing else. */
  readonly makeCode: (fields?: object) => Promise<Json>;
  /** The number by which scans know a code. */
  readonly codeNo: (id: unknown) => number;
}

/**
 * Opens the API for one test file: it closes after the last test. No quota refuses a request, unless the options name
 * a plan.
 */
export async function useTestApi(options: TestAppOptions = {}): Promise<TestApi> {
  const service = await startTestApi(options);
  const client = new Client(service.url, service.apiKey);
  afterAll(async () => {
    await client.close();
    await service.close();
  });
  if (options.plan === undefined) await liftLimits(service);
  return { service, client, ...codesOf(service, client) };
}

/** The first workspace may ask as often as a test likes. */
export async function liftLimits({ workspaces }: TestApp): Promise<void> {
  const limits = { perMinute: 1_000_000, perDay: undefined };
  await workspaces.workspaces.setPlan(1, 'enterprise', limits);
}

function codesOf(service: TestApp, client: Client): Pick<TestApi, 'makeCode' | 'codeNo'> {
  return {
    makeCode: async (fields) => {
      const body = { target: 'https://example.com/menu', ...fields };
      const { status, json, text } = await client.post('/v1/qr-codes', body);
      if (status !== 201) throw new Error(`Cannot make a code: ${text}`);
      return json;
    },
    codeNo: (id) => service.codes.findAnywhere(word(id))?.no ?? 0,
  };
}

/** A key of another workspace, whose owner is nobody in the first. */
export async function makeStranger({
  workspaces: { workspaces, users, keys },
}: TestApp): Promise<string> {
  const user = await users.create(1, 'viewer', { email: 'stranger@example.com', name: 'S' });
  const { no: workspaceNo } = await workspaces.create(user.id, 'Second');
  await workspaces.setPlan(workspaceNo, 'enterprise', { perMinute: 1_000_000, perDay: undefined });
  const own = { workspaceNo, userId: user.id, name: 'stranger', role: 'owner' } as const;
  return (await keys.create(own)).token;
}
