/**
 * Starts what is compared: the service on a data folder with codes, and its rivals, which all answer a
 * constant redirect with the same headers. Ends every process and removes every folder at the end.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Configuration from '../../src/platform/config/config.ts';
import type { Routing } from '../../src/model/routing/routing.ts';
import type { TlsFiles } from '../../src/platform/uws/port.ts';
import { openProgram } from '../../config/program.mjs';
import { configureNginx, findNginx } from '../rivals/nginx.ts';
import type * as Seeding from './seed.ts';
import { type SeedDepth, shortCodeOf, targetOf } from './seed.ts';
import { freePort, Server, type ServerCommand } from './server.ts';

const repository = new URL('../..', import.meta.url).pathname;

/** Joins a control group, then becomes the command. */
const joinGroup = 'echo $$ > "$0" && exec "$@"';

const rivals = {
  uws: new URL('../rivals/uws.ts', import.meta.url),
  'uws-body': new URL('../rivals/uws-body.ts', import.meta.url),
  'node-http': new URL('../rivals/node-http.ts', import.meta.url),
  ladder: new URL('../rivals/ladder.ts', import.meta.url),
  'lone-redirect': new URL('../rivals/lone-redirect.ts', import.meta.url),
};

export interface ServiceSetting {
  readonly codes: number;
  readonly depth?: SeedDepth;
  /** Of every code; absent = plain ones. */
  readonly routing?: Routing;
  readonly environment?: Readonly<Record<string, string>>;
  /** The list of a control group's processes: the service joins it before it starts. */
  readonly processes?: string | undefined;
  /** Where `src/main.ts` is: another revision of the service. */
  readonly tree?: string;
}

export interface Service {
  readonly server: Server;
  readonly dataDir: string;
  readonly apiPort: number;
  readonly metricsPort: number;
  /** Where its `src/main.ts` is. */
  readonly tree: string;
  /** Ends the server and starts it again on the same folder. */
  restart(): Promise<Service>;
  /** Another process takes over from it; resolves once the first one has ended. */
  takeOver(): Promise<Service>;
}

type ServicePlace = Omit<Service, 'server' | 'restart' | 'takeOver'> & {
  readonly command: ServerCommand;
};

/** Folders and processes of one run; `close` ends and removes them all. */
export class Arena {
  readonly #folders: string[] = [];
  readonly #servers: Server[] = [];
  readonly #trees: string[] = [];

  folder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'quietzone-bench-'));
    this.#folders.push(folder);
    return folder;
  }

  async start(command: ServerCommand): Promise<Server> {
    const server = await Server.start(command);
    this.#servers.push(server);
    return server;
  }

  /** The service on its own data folder, with codes 1 to `codes`. */
  async service(setting: ServiceSetting): Promise<Service> {
    const dataDir = this.folder();
    const port = await freePort();
    const apiPort = await freePort();
    const metricsPort = await freePort();
    const environment = {
      QZ_DATA_DIR: dataDir,
      QZ_REDIRECT_HOST: '127.0.0.1',
      QZ_REDIRECT_PORT: String(port),
      QZ_API_HOST: '127.0.0.1',
      QZ_API_PORT: String(apiPort),
      QZ_METRICS_PORT: String(metricsPort),
      QZ_LOG_LEVEL: 'error',
      QZ_REDIRECT_THREADS: '1',
      ...setting.environment,
    };
    const tree = setting.tree ?? repository;
    // By the revision that serves them: it cannot open the data of a later one.
    const { loadConfig }: typeof Configuration = await import(
      join(tree, 'src/platform/config/config.ts')
    );
    const { seedCodes }: typeof Seeding = await import(join(tree, 'bench/loads/seed.ts'));
    const { codes, depth = 'whole', routing } = setting;
    await seedCodes(loadConfig(undefined, environment), codes, depth, routing);
    // So that no load meets the bundling, two seconds of both cores.
    await openProgram();
    const { processes } = setting;
    const program = programOf(setting.tree);
    return await this.#serve({
      command: {
        ...(processes === undefined
          ? program
          : {
              file: '/bin/sh',
              args: ['-c', joinGroup, processes, program.file, ...program.args],
            }),
        environment,
        port,
        path: `/${shortCodeOf(1)}`,
        target: targetOf(1),
        scheme: 'QZ_REDIRECT_TLS_CERT_FILE' in environment ? 'https:' : undefined,
      },
      dataDir,
      apiPort,
      metricsPort,
      tree,
    });
  }

  async #serve(place: ServicePlace, options: readonly string[] = []): Promise<Service> {
    const { command, ...service } = place;
    const server = await this.start({ ...command, args: [...command.args, ...options] });
    const restart = async (): Promise<Service> => {
      await server.stop();
      return await this.#serve(place);
    };
    const takeOver = async (): Promise<Service> => {
      const successor = await this.#serve(place, ['--takeover']);
      await Promise.race([server.ended, successor.server.ended]);
      successor.server.assertRuns();
      return successor;
    };
    return { ...service, server, restart, takeOver };
  }

  /** Started with its port and then `args`, of which the last are certificate and key where it speaks TLS. */
  async rival(
    name: keyof typeof rivals,
    args: readonly string[],
    { path = '/', scheme }: Partial<Pick<ServerCommand, 'path' | 'scheme'>> = {},
  ): Promise<Server> {
    const port = await freePort();
    const file = fileURLToPath(rivals[name]);
    return this.start({
      file: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', file, String(port), ...args],
      port,
      path,
      target: targetOf(1),
      scheme,
    });
  }

  /** Undefined where nginx is not installed. */
  async nginx(tls?: TlsFiles): Promise<Server | undefined> {
    const file = findNginx();
    if (file === undefined) return undefined;
    const port = await freePort();
    const target = targetOf(1);
    const args = configureNginx(this.folder(), { port, target, tls });
    const scheme = tls === undefined ? undefined : 'https:';
    return this.start({ file, args, port, path: '/', target, scheme });
  }

  /** Another revision in its own work tree, with this one's packages. */
  checkOut(revision: string): string {
    const tree = join(this.folder(), 'tree');
    git('worktree', 'add', '--detach', tree, revision);
    this.#trees.push(tree);
    symlinkSync(join(repository, 'node_modules'), join(tree, 'node_modules'));
    return tree;
  }

  async close(): Promise<void> {
    for (const server of this.#servers.splice(0).toReversed()) await server.stop();
    for (const tree of this.#trees.splice(0)) git('worktree', 'remove', '--force', tree);
    for (const folder of this.#folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  }
}

/** @param tree of another revision, whose sources run; without it the one file does that QUIETZONE_COMMAND names */
function programOf(tree: string | undefined): Pick<ServerCommand, 'file' | 'args'> {
  const file = process.env['QUIETZONE_COMMAND'];
  if (tree === undefined && file !== undefined) return { file, args: ['serve'] };
  return { file: process.execPath, args: startArguments(tree ?? repository) };
}

/** What `npm start` of these sources gives to Node. */
function startArguments(tree: string): string[] {
  const { scripts }: { readonly scripts: { readonly start: string } } = JSON.parse(
    readFileSync(join(tree, 'package.json'), 'utf8'),
  );
  const words = scripts.start.split(' ');
  const own = words.slice(words.indexOf('node') + 1);
  return own.map((word) => (word.includes('/') ? join(tree, word) : word));
}

function git(...args: readonly string[]): void {
  const { status, stderr } = spawnSync('git', ['-C', repository, ...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`Cannot use git ${args.join(' ')}: ${stderr}`);
}
