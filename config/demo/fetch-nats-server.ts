/**
 * Fetches a nats-server for the demo and the tests: `npm run fetch:nats`. If it cannot, one line says why and the exit code
 * is 0: the tests then run without a broker.
 *
 * It is the package of a newer Debian suite, from the archive that the machine's apt uses already, unpacked and not
 * installed. apt does the work in its own folder, so that lists, cache, sources and pins of the machine stay as
 * they are. It checks the signature by the keys of the package debian-archive-keyring alone.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { examineServer, fetchedServer, findNatsServer } from './nats-server.ts';

/** Debian's suite by name, since names do not move on: it has 2.10.27, the oldest that will do. */
const suite = 'trixie';
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
/** A fetch takes 3 s; a slow network must not delay the tests that need no broker. */
const fetchMsMax = 60_000;

const say = (text: string): boolean => process.stdout.write(`nats-server: ${text}\n`);

function run(command: string, args: readonly string[], cwd?: string): string {
  const env = { ...process.env, LC_ALL: 'C' };
  return execFileSync(command, args, {
    cwd,
    env,
    encoding: 'utf8',
    stdio: 'pipe',
    timeout: fetchMsMax,
  });
}

async function fetchServer(): Promise<void> {
  const archive = findArchive();
  const work = mkdtempSync(join(tmpdir(), 'quietzone-nats-'));
  try {
    download(archive, work);
    const names = readdirSync(join(work, 'unpacked/usr'));
    const paths = names.map((name) => join(work, 'unpacked/usr', name, 'nats-server'));
    const server = await examineServer(paths.find(existsSync) ?? 'nats-server');
    if ('missing' in server) throw new Error(server.missing);
    mkdirSync(dirname(fetchedServer), { recursive: true });
    cpSync(server.path, fetchedServer);
    say(`${server.version} was fetched (${fetchedServer})`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Where the machine's apt has Debian from, whether or not it has read its lists. Others name their suites alike. */
function findArchive(): string {
  if (!existsSync(keyring)) throw new Error('the package debian-archive-keyring is not installed');
  const format = ['--format', '$(REPO_URI) $(RELEASE) $(COMPONENT)', 'Created-By: Packages'];
  const targets = run('apt-get', ['indextargets', '--no-release-info', ...format]);
  const debian = /^(\S+) (?:bullseye|bookworm|trixie|forky|sid|\w*stable|testing) main$/gm;
  const archives = [...targets.matchAll(debian)].map(([, uri = '']) => uri);
  const archive = archives.find((uri) => uri.endsWith('/debian/')) ?? archives[0];
  if (archive === undefined) throw new Error("apt's sources name no Debian archive");
  return archive;
}

/** Unpacks the package into the folder `work`/unpacked. */
function download(archive: string, work: string): void {
  for (const name of ['state/lists/partial', 'cache/archives/partial', 'none']) {
    mkdirSync(join(work, name), { recursive: true });
  }
  writeFileSync(join(work, 'status'), '');
  const source = `deb [signed-by=${keyring}] ${archive} ${suite} main\n`;
  writeFileSync(join(work, 'debian.list'), source);
  writeFileSync(join(work, 'apt.conf'), configurationIn(work));
  const own = ['--config-file', join(work, 'apt.conf')];
  run('apt-get', [...own, 'update'], work);
  run('apt-get', [...own, 'download', 'nats-server'], work);
  const packed = readdirSync(work).find((name) => name.endsWith('.deb'));
  if (packed === undefined) throw new Error(`${suite} has no package nats-server`);
  run('dpkg-deb', ['--extract', packed, 'unpacked'], work);
}

/**
 * Read after the machine's own configuration, which may name a proxy. What that does after an update (it may empty the
 * machine's cache), the release it prefers, and any consent to unsigned packages are taken back.
 */
const configurationIn = (work: string): string => `
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Default-Release;
Acquire::Retries "0";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
APT::Get::AllowUnauthenticated "false";
APT::Update::Error-Mode "any";
Dir::State "${work}/state";
Dir::State::status "${work}/status";
Dir::Cache "${work}/cache";
Dir::Etc::SourceList "${work}/debian.list";
Dir::Etc::SourceParts "${work}/none";
Dir::Etc::Preferences "${work}/none";
Dir::Etc::PreferencesParts "${work}/none";
Dir::Etc::Trusted "${work}/none";
Dir::Etc::TrustedParts "${work}/none";
`;

try {
  const found = await findNatsServer();
  if ('missing' in found) await fetchServer();
  else say(`${found.version} is there (${found.path})`);
} catch (error) {
  const { message, stderr = '' }: { message: string; stderr?: string } = Object(error);
  // The text of apt says more than its exit code.
  say(`not run: ${/^E: (.+)/m.exec(stderr)?.[1] ?? message.split('\n')[0]}`);
}
