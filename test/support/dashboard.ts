/** The program, the dashboard and the geo table, made once for all that tests start, and kept from one run to the next. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openProgram } from '../../config/program.mjs';
import { makeGeoTable } from '../../config/release/geo-files.ts';
import { shipped } from '../../src/platform/shipped.ts';

/** Vitest calls it before all tests. @throws Error when they cannot be built */
export async function setup(): Promise<void> {
  await openProgram();
  if (!existsSync(shipped.geoTable().path)) makeGeoTable(() => undefined);
}

let program: Promise<string> | undefined;

/** A service in this process runs the sources, which have no dashboard: it gets that of their bundle. */
export async function addDashboard(): Promise<void> {
  const folder = await (program ??= openProgram());
  shipped.dashboard = () => readFileSync(join(folder, 'dashboard.bin'));
}
