/** Start-up with many codes, without the image of the link table and with it: time to the first redirect, memory. */
import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Arena, type Service } from './arena.ts';
import { memoryOf, threadNanoseconds } from './cpu.ts';
import { targetOf } from './seed.ts';

const pollMs = 50;
const imageMsMax = 120_000;
/** Fewer codes have no image. */
const imageCodesMin = 100_000;

export interface Start {
  readonly seconds: number;
  /** Of it on a CPU, all threads together: what a busy machine does not stretch. */
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly fileBytes: number;
}

export interface StartResult {
  /** Every link is read from the store. */
  readonly plain: readonly Start[];
  /** With the image; none for few codes. */
  readonly imaged: readonly Start[];
  readonly imageBytes: number;
  /** Of the link table, without the targets themselves. */
  readonly bytesPerCode: number;
}

export async function measureStart(codes: number, rounds: number): Promise<StartResult> {
  const arena = new Arena();
  try {
    let service = await arena.service({
      codes,
      depth: 'links',
      dashboard: 'built by the start',
    });
    const plain = [startOf(service)];
    const linkBytes = await linkBytesOf(service.metricsPort);
    let targetBytes = 0;
    for (let no = 1; no <= codes; no++) targetBytes += targetOf(no).length;
    const image = join(service.dataDir, 'cache', 'links.image');
    while (plain.length < rounds) {
      rmSync(image, { force: true });
      service = await service.restart();
      plain.push(startOf(service));
    }
    const imaged: Start[] = [];
    if (codes >= imageCodesMin) {
      await written(image);
      while (imaged.length < rounds) {
        service = await service.restart();
        imaged.push(startOf(service));
      }
    }
    const imageBytes = existsSync(image) ? statSync(image).size : 0;
    const bytesPerCode = (linkBytes - targetBytes) / codes;
    return { plain, imaged, imageBytes, bytesPerCode };
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

/** The service writes it by itself, some seconds after a start. */
async function written(image: string): Promise<void> {
  for (let waitedMs = 0; !existsSync(image); waitedMs += pollMs) {
    if (waitedMs > imageMsMax) throw new Error('Cannot measure: no image of the link table');
    await wait(pollMs);
  }
  // Its row follows the file.
  await wait(10 * pollMs);
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
