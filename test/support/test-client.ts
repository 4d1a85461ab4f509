import { afterAll, onTestFinished } from 'vitest';
import type { Role } from '../../src/model/workspace.ts';
import { Client, type Json, word } from './client.ts';
import { type MailServer, startMailServer } from './fakes/mail-server.ts';
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
  const makeCode: TestApi['makeCode'] = (fields) =>
    client.make('/v1/qr-codes', { target: 'https://example.com/menu', ...fields });
  const codeNo = (id: unknown): number => service.codes.findAnywhere(word(id))?.no ?? 0;
  return { service, client, makeCode, codeNo };
}

/** The first workspace may ask as often as a test likes. */
export async function liftLimits({ workspaces }: TestApp): Promise<void> {
  const limits = { perMinute: 1_000_000, perDay: undefined };
  await workspaces.workspaces.setPlan(1, 'enterprise', limits);
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

export interface Member {
  readonly id: string;
  readonly email: string;
  readonly password: string;
  readonly key: string;
}

let members = 0;

/** A member of the first workspace, who has a password and a key of the same role. */
export async function makeMember(
  { workspaces: { users, keys } }: TestApp,
  role: Role,
  email = `member${(members += 1)}@example.com`,
): Promise<Member> {
  const password = 'a good password';
  const { id } = await users.create(1, role, { email, name: 'Jane', password });
  const { token } = await keys.create({ workspaceNo: 1, userId: id, name: role, role });
  return { id, email, password, key: token };
}

export interface Mailing {
  readonly mail: MailServer;
  readonly service: TestApp;
  readonly client: Client;
}

/** The API with a mail server, for one test: all of it closes when the test ends. */
export async function openMailing(
  environment: Readonly<Record<string, string>> = {},
): Promise<Mailing> {
  const mail = await startMailServer();
  onTestFinished(() => mail.close());
  const service = await startTestApi({ environment: { ...mail.environment, ...environment } });
  const client = new Client(service.url, service.apiKey);
  onTestFinished(() => client.close());
  return { mail, service, client };
}

/** The token of the link in a mail. */
export const tokenIn = ({ source }: { readonly source: string }): string =>
  /token=(?:3D)?([\w-]{43})/.exec(source.replace(/=\r\n/g, ''))?.[1] ?? '';
