/** Runs the parts, one process each: a part's garbage and its compiled code are its own. */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { formatTable } from './report.ts';

export interface PartRow {
  readonly name: string;
  readonly nanosecondsPerOperation: number;
  readonly note?: string;
}

/** What a file in `parts/` exports. */
export interface Part {
  readonly question: string;
  run(options: { readonly quick: boolean }): Promise<PartRow[]>;
}

export interface PartReport {
  readonly question: string;
  readonly rows: readonly PartRow[];
}

export type Length = 'quick' | 'whole';

const folder = join(import.meta.dirname, 'parts');

export const partNames: readonly string[] = readdirSync(folder)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length))
  .sort();

/** Runs a part in this process: what it measures is not its own alone. */
export async function runPartHere(name: string): Promise<PartReport> {
  const part: Part = await import(pathToFileURL(join(folder, `${name}.ts`)).href);
  return { question: part.question, rows: await part.run({ quick: true }) };
}

export async function runPart(name: string, length: Length): Promise<PartReport> {
  const args = [join(folder, `${name}.ts`), ...(length === 'quick' ? ['--quick'] : [])];
  const script = fileURLToPath(new URL('./part.ts', import.meta.url));
  const flags = ['--disable-warning=ExperimentalWarning', '--expose-gc'];
  const child = spawn(process.execPath, [...flags, script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`Cannot run part ${name}: it ended with ${String(code)}`);
  return JSON.parse(output) as PartReport;
}

export function formatPart({ question, rows }: PartReport): string {
  const cells = rows.map(({ name, nanosecondsPerOperation, note }) => [
    name,
    duration(nanosecondsPerOperation),
    `  ${note ?? ''}`,
  ]);
  return `${question}\n\n${formatTable(['', 'an operation', ''], cells)}`;
}

function duration(nanoseconds: number): string {
  if (nanoseconds < 1e4) return `${nanoseconds.toFixed(1)} ns`;
  return nanoseconds < 1e7
    ? `${(nanoseconds / 1e3).toFixed(1)} µs`
    : `${(nanoseconds / 1e6).toFixed(1)} ms`;
}
