/** Start-up with many codes: time to the first redirect, memory. */
import { setTimeout as wait } from 'node:timers/promises';
import { Arena, type Service } from './arena.ts';
import { memoryOf, threadNanoseconds } from './cpu.ts';
import { targetOf } from './seed.ts';

const pollMs = 50;

export interface Start {
  readonly seconds: number;
  /** Of it on a CPU, all threads together: what a busy machine does not stretch. */
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly fileBytes: number;
}

export interface StartResult {
  readonly starts: readonly Start[];
  /** Of the link table, without the targets themselves. */
  readonly bytesPerCode: number;
}

export async function measureStart(codes: number, rounds: number): Promise<StartResult> {
  const arena = new Arena();
  try {
    let service = await arena.service({ codes, depth: 'links' });
    const starts = [startOf(service)];
    const linkBytes = await linkBytesOf(service.metricsPort);
    let targetBytes = 0;
    for (let no = 1; no <= codes; no++) targetBytes += targetOf(no).length;
    while (starts.length < rounds) {
      service = await service.restart();
      starts.push(startOf(service));
    }
    const bytesPerCode = (linkBytes - targetBytes) / codes;
    return { starts, bytesPerCode };
  } finally {
    await arena.close();
  }
}

function startOf({ server }: Service): Start {
  const cpuNanoseconds = [...threadNanoseconds(server.pid).values()].reduce((a, b) => a + b, 0);
  return {
    seconds: server.readyMs / 1e3,
    cpuSeconds: cpuNanoseconds / 1e9,
    ...memoryOf(server.pid),
  };
}

async function linkBytesOf(port: number): Promise<number> {
  const metrics = await metricsOf(port);
  return Number(/^quietzone_link_bytes\{use="committed"\} (\S+)$/m.exec(metrics)?.[1]);
}

/** They listen a moment after the redirects do. */
async function metricsOf(port: number): Promise<string> {
  for (;;) {
    try {
      return await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      await wait(pollMs);
    }
  }
}
