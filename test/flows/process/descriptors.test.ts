/**
 * Idle connections, twice as many as its descriptors and more, before its start and ever after, on both ports:
 * they are closed, what asks is answered and counted, and nothing else of the service notices.
 */
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { request } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { fewThreads, freePorts, ServiceProcess, withDataFolder } from '../../support/process.ts';
import { soon } from '../../support/soon.ts';

const openFiles = 256;
const crowd = 200;
/** A connection that was closed comes back after so long. */
const returnMs = 50;

/** Connections that ask for nothing and come back when they are closed. @returns ends them */
function startCrowd(port: number): () => void {
  const open = new Set<Socket>();
  let isOver = false;
  const come = (): void => {
    if (isOver) return;
    const socket = connect(port, '127.0.0.1');
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      open.delete(socket);
      setTimeout(come, returnMs);
    });
    socket.resume();
  };
  for (let at = 0; at < crowd; at += 1) come();
  return () => {
    isOver = true;
    for (const socket of open) socket.destroy();
  };
}

/** On new connections, until one is let in. */
async function insist(url: string, options: Parameters<typeof request>[1] = {}) {
  for (;;) {
    try {
      const { statusCode, body } = await request(url, { ...options, reset: true });
      return { status: statusCode, text: await body.text() };
    } catch {
      // Closed because its place was needed.
    }
  }
}

it('a crowd of idle connections stops no redirect, no count and no change', () =>
  withDataFolder(async (dataDir) => {
    const ports = await freePorts();
    const few = new ServiceProcess({ dataDir, ports, environment: fewThreads, openFiles: 128 });
    expect(await few.exit).toEqual({ code: 1, signal: null });
    expect(few.stderr).toMatch(/^Cannot start: this process may open 128 files \(nofile\), .*\n$/);

    const ends = [startCrowd(ports.api), startCrowd(ports.redirect)];
    const end = (): void => ends.forEach((leave) => leave());
    onTestFinished(end);
    const service = new ServiceProcess({ dataDir, ports, environment: fewThreads, openFiles });
    await service.ready();
    const { apiUrl } = service;
    const headers = {
      authorization: `Bearer ${service.apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': 'once',
    };
    const body = JSON.stringify({ target: 'https://example.com/', slug: 'crowded' });
    const made = await insist(`${apiUrl}/v1/qr-codes`, { method: 'POST', headers, body });
    expect([made.status, made.text]).toEqual([201, expect.stringContaining('crowded')]);

    const scans = 20;
    for (let at = 0; at < scans; at += 1) {
      expect((await insist(`${service.redirectUrl}/crowded`)).status).toBe(302);
    }
    const { id }: { id: string } = JSON.parse(made.text);
    const counted = async (): Promise<number> =>
      JSON.parse((await insist(`${apiUrl}/v1/qr-codes/${id}`, { headers })).text).scans;
    await expect.poll(counted, soon).toBeGreaterThanOrEqual(scans);
    expect((await insist(`${apiUrl}/health/ready`)).status).toBe(200);
    // The figures of redirect threads come when they have changed, once a second at most.
    for (const listener of ['redirect', 'api']) {
      const shed = new RegExp(`quietzone_connections_shed_total{listener="${listener}"} [1-9]`);
      await expect.poll(() => service.metrics(), soon).toMatch(shed);
    }
    expect(readdirSync(`/proc/${service.pid}/fd`).length).toBeLessThan(openFiles);
    end();
    expect(await service.terminate()).toMatchObject({ code: 0, signal: null });
    const complaints = new Set(service.complaints.map(({ msg }) => msg));
    for (const msg of complaints) expect(msg).toMatch(/may open 256 files|^connections closed/);
  }));
