/** What every load is given and what it reports; the codes and requests that most of them use. */
import type { Chart } from '../chart.ts';
import { formatTable } from '../report.ts';
import { autocannonGenerator } from './autocannon.ts';
import { type Result, resultCells, resultHeadings } from './compare.ts';
import { createRequests, type LoadRequest, requestCount } from './requests.ts';
import { pathsOf, shortCodeOf } from './seed.ts';
import { findWrk } from './wrk.ts';

export interface LoadOptions {
  readonly isQuick: boolean;
  readonly isFull: boolean;
  readonly rounds: number;
  readonly seconds: number;
  readonly previous: string | undefined;
}

export interface LoadReport {
  readonly text: string;
  /** Contestants or measurements, by name: for the test that keeps the bench alive. */
  readonly rows: readonly string[];
  /** What README shows of it. */
  readonly chart?: Chart;
}

const host = 'q.example';
/** As wrk's documentation does, a few dozen connections a thread: batches form in every event-loop cycle. */
const connections = 64;
const connectionsQuick = 8;
export const codesUniform = 10_000;
export const codesQuick = 200;

export interface Field {
  readonly codes: number;
  readonly uniform: readonly LoadRequest[];
  readonly hot: readonly LoadRequest[];
}

export function fieldOf(options: LoadOptions): Field {
  const codes = options.isQuick ? codesQuick : codesUniform;
  const count = options.isQuick ? codesQuick : requestCount;
  return {
    codes,
    uniform: createRequests(host, pathsOf(codes), count),
    hot: createRequests(host, [`/${shortCodeOf(7)}`], count),
  };
}

export const scheduleOf = (options: LoadOptions) => ({
  generator: findWrk() ?? autocannonGenerator,
  rounds: options.rounds,
  seconds: options.seconds,
  connections: options.isQuick ? connectionsQuick : connections,
});

export function report(
  title: string,
  results: readonly Result[],
  targets: readonly string[],
): LoadReport {
  const base = results[0]!;
  const table = formatTable(
    resultHeadings,
    results.map((result) => resultCells(result, base)),
  );
  const rows = results.map(({ name }) => name);
  return { text: [title, '', table, '', ...targets].join('\n'), rows };
}
