/** Start-up with many codes: time to the first redirect, memory, and the link table's bytes a code. */
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../src/system-clock.ts';
import { Arena } from './arena.ts';
import { memoryOf, threadNanoseconds } from './cpu.ts';
import { targetOf } from './seed.ts';

const pollMs = 50;

export interface StartResult {
  readonly codes: number;
  readonly seedSeconds: number;
  readonly readySeconds: number;
  /** Of it on a CPU, all threads together: what a busy machine does not stretch. */
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly fileBytes: number;
  /** Of the link table, without the targets themselves. */
  readonly bytesPerCode: number;
}

export async function measureStart(codes: number): Promise<StartResult> {
  const arena = new Arena();
  try {
    const startedMs = systemClock.monotonicMs();
    const { server, apiPort } = await arena.service({ codes, depth: 'links' });
    const cpuNanoseconds = [...threadNanoseconds(server.pid).values()].reduce((a, b) => a + b, 0);
    const totalMs = systemClock.monotonicMs() - startedMs;
    const metrics = await metricsOf(apiPort);
    const linkBytes = Number(/^quietzone_link_bytes\{use="committed"\} (\S+)$/m.exec(metrics)?.[1]);
    let targetBytes = 0;
    for (let no = 1; no <= codes; no++) targetBytes += targetOf(no).length;
    return {
      codes,
      seedSeconds: (totalMs - server.readyMs) / 1e3,
      readySeconds: server.readyMs / 1e3,
      cpuSeconds: cpuNanoseconds / 1e9,
      bytesPerCode: (linkBytes - targetBytes) / codes,
      ...memoryOf(server.pid),
    };
  } finally {
    await arena.close();
  }
}

/** The API listens a moment after the redirects do. */
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
