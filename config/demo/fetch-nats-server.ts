/**
 * Fetches a nats-server for the demo and the tests: `npm run fetch:nats`, with `-- --all` the oldest that cluster mode runs on and a
 * newest one. Where that cannot be done, one line says why and the exit code is 0: the tests then run without.
 *
 * It is the package of a newer Debian suite, from the archive that the machine's apt uses already, unpacked beside and
 * not installed. apt does the work in a folder of its own, so that lists, cache, sources and pins of the machine stay as
 * they are. It also checks the signature, and takes no keys but those of the package debian-archive-keyring.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fetchedServers, findFetched, findNatsServer, type NatsServer } from './nats-server.ts';

/** Debian's suites by name, since names do not move on: 2.10.27, the oldest that will do, and a new one. */
const suites = ['trixie', 'forky'] as const;
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
/** It takes 3 s a suite; a slow network must not hold up the tests that need none. */
const fetchMsMax = 60_000;

class NoServerError extends Error {
  override readonly name = 'NoServerError';
}

const deadline = AbortSignal.timeout(fetchMsMax);
const say = (text: string): boolean => process.stdout.write(`nats-server: ${text}\n`);

async function fetchOne(): Promise<void> {
  const found = await findNatsServer();
  if ('missing' in found) await fetchSuite(suites[0]);
  else say(`${found.version} is there (${found.path})`);
}

async function fetchAll(): Promise<void> {
  for (const suite of suites) await fetchSuite(suite);
}

async function fetchSuite(suite: string): Promise<void> {
  const folder = join(fetchedServers, suite);
  const path = join(folder, 'nats-server');
  const present = (await findFetched(fetchedServers)).find((server) => server.path === path);
  if (present !== undefined) {
    say(`${present.version} is there (${path})`);
    return;
  }
  const archive = await findArchive();
  const work = await mkdtemp(join(tmpdir(), 'quietzone-nats-'));
  try {
    const fetched = await download(archive, suite, work);
    await mkdir(folder, { recursive: true });
    await copyFile(fetched.path, `${path}.new`);
    await rename(`${path}.new`, path);
    say(`${fetched.version} was fetched (${path})`);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Where the machine's apt has Debian from, whether or not it has read its lists. Others name their suites alike. */
async function findArchive(): Promise<string> {
  if (!existsSync(keyring)) {
    throw new NoServerError('the package debian-archive-keyring is not installed');
  }
  const format = ['--format', '$(REPO_URI) $(RELEASE) $(COMPONENT)', 'Created-By: Packages'];
  const targets = await run('apt-get', ['indextargets', '--no-release-info', ...format]);
  const debian = /^(\S+) (?:bullseye|bookworm|trixie|forky|sid|\w*stable|testing) main$/gm;
  const archives = [...targets.matchAll(debian)].map(([, uri = '']) => uri);
  const archive = archives.find((uri) => uri.endsWith('/debian/')) ?? archives[0];
  if (archive === undefined) throw new NoServerError("apt's sources name no Debian archive");
  return archive;
}

/** @returns the server, unpacked in the folder `work` */
async function download(archive: string, suite: string, work: string): Promise<NatsServer> {
  await mkdir(join(work, 'state/lists/partial'), { recursive: true });
  await mkdir(join(work, 'cache/archives/partial'), { recursive: true });
  await mkdir(join(work, 'none'));
  await writeFile(join(work, 'status'), '');
  await writeFile(join(work, 'debian.sources'), sourceOf(archive, suite));
  await writeFile(join(work, 'apt.conf'), configurationIn(work));
  const own = ['--config-file', join(work, 'apt.conf')];
  await run('apt-get', [...own, 'update'], work);
  await run('apt-get', [...own, 'download', 'nats-server'], work);
  const packed = (await readdir(work)).find((name) => name.endsWith('.deb'));
  if (packed === undefined) throw new NoServerError(`${suite} has no package nats-server`);
  await run('dpkg-deb', ['--extract', packed, 'unpacked'], work);
  const [server] = await findFetched(join(work, 'unpacked/usr'));
  if (server === undefined) throw new NoServerError(`the server of ${suite} does not run here`);
  return server;
}

const sourceOf = (archive: string, suite: string): string => `Types: deb
URIs: ${archive}
Suites: ${suite}
Components: main
Targets: Packages
Signed-By: ${keyring}
`;

/**
 * Read after the machine's own configuration, which may name a proxy. What that does after an update (it may empty the
 * machine's cache), the release it prefers, and any consent to unsigned packages are taken back.
 */
const configurationIn = (work: string): string => `
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Default-Release;
#clear Acquire::Languages;
Acquire::Languages "none";
Acquire::Retries "0";
Acquire::http::Timeout "10";
Acquire::https::Timeout "10";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
APT::Get::AllowUnauthenticated "false";
APT::Update::Error-Mode "any";
Dir::State "${work}/state";
Dir::State::status "${work}/status";
Dir::Cache "${work}/cache";
Dir::Etc::SourceList "${work}/debian.sources";
Dir::Etc::SourceParts "${work}/none";
Dir::Etc::Preferences "${work}/none";
Dir::Etc::PreferencesParts "${work}/none";
Dir::Etc::Trusted "${work}/none";
Dir::Etc::TrustedParts "${work}/none";
`;

async function run(command: string, args: readonly string[], cwd?: string): Promise<string> {
  const env = { ...process.env, LC_ALL: 'C' };
  const { stdout } = await promisify(execFile)(command, args, { cwd, env, signal: deadline });
  return stdout;
}

/** What a machine or its network may lack; undefined for a fault of this script. What apt prints says more than its exit. */
function whyNot(error: unknown): string | undefined {
  if (deadline.aborted) return `it took longer than ${fetchMsMax / 1000} s`;
  if (error instanceof NoServerError) return error.message;
  if (!(error instanceof Error && 'code' in error)) return undefined;
  if (error.code === 'ENOENT' && 'path' in error)
    return `this machine has no ${String(error.path)}`;
  const printed = 'stderr' in error ? /^E: (.+)/m.exec(String(error.stderr))?.[1] : undefined;
  return (printed ?? error.message).split('\n')[0]?.trim();
}

try {
  await (process.argv.includes('--all') ? fetchAll() : fetchOne());
} catch (error) {
  const why = whyNot(error);
  if (why === undefined) throw error;
  say(`not run: ${why}`);
}
