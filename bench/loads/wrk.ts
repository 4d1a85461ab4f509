/**
 * wrk, where it is installed: it asks for as much as it can and costs half a core while doing so, which
 * on two cores leaves the server the other. The requests are written out once, its script only hands them over.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Generator, LoadResult, LoadSpec } from './load.ts';
import { requestBytes } from './requests.ts';

const program = 'wrk';

/** Undefined where wrk is not installed. */
export function findWrk(): Generator | undefined {
  if (spawnSync(program, ['-v'], { stdio: 'ignore' }).error !== undefined) return undefined;
  return { name: 'wrk', run: runWrk };
}

const script = (file: string): string => `
local requests = {}
local at = 0
function init(args)
  local file = io.open(${JSON.stringify(file)}, "rb")
  local text = file:read("*a")
  file:close()
  for request in text:gmatch("(.-)\\r\\n\\r\\n") do
    requests[#requests + 1] = request .. "\\r\\n\\r\\n"
  end
end
function request()
  at = at % #requests + 1
  return requests[at]
end
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format('\\nRESULT {"requests":%d,"microseconds":%d,"failed":%d,"p50":%d,"p99":%d}\\n',
    summary.requests, summary.duration,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
`;

async function runWrk(spec: LoadSpec): Promise<LoadResult> {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-wrk-'));
  try {
    const requestFile = join(folder, 'requests.txt');
    const scriptFile = join(folder, 'requests.lua');
    writeFileSync(requestFile, spec.requests.map((r) => requestBytes(spec.method, r)).join(''));
    writeFileSync(scriptFile, script(requestFile));
    const url = `${spec.scheme ?? 'http:'}//127.0.0.1:${spec.port}/`;
    // wrk refuses a fraction of a second.
    const bounds = ['-c', String(spec.connections), '-d', `${Math.ceil(spec.seconds)}s`];
    return parseResult(await outputOf(program, ['-t', '1', ...bounds, '-s', scriptFile, url]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Summary = Record<'requests' | 'microseconds' | 'failed' | 'p50' | 'p99', number>;

function parseResult(output: string): LoadResult {
  const line = /RESULT (\{.*\})/.exec(output)?.[1];
  if (line === undefined) throw new Error(`Cannot read what wrk says: ${output}`);
  const summary = JSON.parse(line) as Summary;
  return {
    requests: summary.requests,
    seconds: summary.microseconds / 1e6,
    failed: summary.failed,
    p50Ms: summary.p50 / 1e3,
    p99Ms: summary.p99 / 1e3,
  };
}

async function outputOf(file: string, args: readonly string[]): Promise<string> {
  const child = spawn(file, [...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`Cannot load: ${file} ended with ${code}`));
    });
  });
}
