/** The commands beside a running server, which notices with its next request. */
import { expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { freePorts, runCommand, startProcess, withDataFolder } from '../support/process.ts';

test(
  'users, keys and plans changed on the command line hold from the next request',
  { timeout: 240_000 },
  async () => {
    await withDataFolder(async (dataDir) => {
      const service = await startProcess({ dataDir, ports: await freePorts() });
      const client = new Client(service.apiUrl, service.apiKey);
      const run = async (...args: string[]): Promise<string> => {
        const result = await runCommand(args, { QZ_DATA_DIR: dataDir });
        expect([args.join(' '), result.code, result.stderr]).toEqual([args.join(' '), 0, '']);
        return result.stdout;
      };
      const email = 'cli@example.com';
      await run('users', 'create', '-e', email, '-n', 'C', '-r', 'viewer', '-p', 'first password');
      const signIn = async (password: string): Promise<number> =>
        (await client.call('POST', '/v1/auth/sign-in', { body: { email, password } })).status;
      expect(await signIn('first password')).toBe(200);
      const reset = await run('users', 'reset-password', '-e', email);
      const made = reset.trim().split('\n').at(-1) ?? '';
      expect([await signIn('first password'), await signIn(made)]).toEqual([401, 200]);

      const created = JSON.parse(await run('keys', 'create', '-n', 'cli', '--json'));
      const works = async (): Promise<number> =>
        (await client.call('GET', '/v1/qr-codes', { key: created.key })).status;
      expect(await works()).toBe(200);
      const kid = /with (\S+) from/.exec(await run('keys', 'rotate-signing'))?.[1];
      expect(await works()).toBe(200);
      const next = JSON.parse(await run('keys', 'create', '-n', 'new', '--json'));
      expect(Buffer.from(next.key.split('.')[0], 'base64url').toString()).toContain(kid);
      expect((await client.call('GET', '/v1/session', { key: next.key })).status).toBe(200);
      const keys = JSON.parse(await run('keys', 'list', '--json'));
      expect(keys).toHaveLength(3);
      expect(JSON.stringify(keys)).not.toContain(created.key);
      await run('keys', 'revoke', created.id);
      expect(await works()).toBe(401);

      const [{ id }] = JSON.parse(await run('workspaces', 'list', '--json'));
      await run('workspaces', 'set-plan', id, 'enterprise', '--per-minute', '77');
      const limit = async () =>
        (await client.call('GET', '/v1/session')).headers['x-ratelimit-limit'];
      expect(await limit()).toBe('77');
      await run('workspaces', 'set-plan', id, 'pro');
      expect(await limit()).toBe('120');
      const wrong = [
        ['workspaces', 'set-plan', id, 'pro', '--per-minute', '9'],
        ['keys', 'revoke', 'key_00000000000000000000'],
        ['users', 'create', '-e', email, '-n', 'again'],
      ];
      for (const args of wrong) {
        expect((await runCommand(args, { QZ_DATA_DIR: dataDir })).code).toBe(1);
      }
      await client.close();
      expect((await service.terminate()).code).toBe(0);
    });
  },
);
