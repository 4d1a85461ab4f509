/**
 * One scan for each connection, as phones do it: plain and over TLS, closed by the server that was asked to, or by the
 * phone. Every contestant has the same certificate (ECDSA, P-256), and every handshake is a whole one, of TLS 1.3.
 *
 * What counts is the CPU of the thread that redirects, accept and handshake included. The generator is slower than the
 * servers, so "all threads" is more than a busy service needs: what a thread does every second is shared by few scans.
 */
import { formatTarget } from '../report.ts';
import { Arena } from './arena.ts';
import { compare, type Contestant, differenceOf, redirectOf, type Result } from './compare.ts';
import { fieldOf, type LoadOptions, type LoadReport, report, scheduleOf } from './options.ts';
import { phones, type PhoneKind } from './phones.ts';
import { targetOf } from './seed.ts';

const fixture = (name: string): string =>
  new URL(`../../test/fixtures/receiver-tls/${name}`, import.meta.url).pathname;
const certificate = { tlsCertFile: fixture('certificate.pem'), tlsKeyFile: fixture('key.pem') };
const tlsEnvironment = {
  QZ_REDIRECT_TLS_CERT_FILE: certificate.tlsCertFile,
  QZ_REDIRECT_TLS_KEY_FILE: certificate.tlsKeyFile,
};
const closings = ['by the server', 'by the phone'] as const;
const closingQuick = { plain: closings[0], tls: closings[1] };
/** On connections that stay: handshakes are too few for V8 to compile what answers. */
const warmUpSeconds = 3;
/** Above a bare uWebSockets.js, in µs of the server's CPU. */
const aboveMax = { plain: 6, tls: 25 };

export async function fresh(options: LoadOptions): Promise<LoadReport> {
  const reports: LoadReport[] = [];
  for (const transport of ['plain', 'tls'] as const) {
    const arena = new Arena();
    try {
      const contestants = await contestantsOf(arena, transport, options);
      for (const contestant of contestants) await warmUp(contestant, transport, options);
      for (const closing of options.isQuick ? [closingQuick[transport]] : closings) {
        const generator = phones({ transport, closing });
        const results = await compare(contestants, { ...scheduleOf(options), generator });
        const title = `One scan for each connection, ${generator.name}:`;
        reports.push(report(title, results, targetsOf(transport, results)));
      }
    } finally {
      await arena.close();
    }
  }
  return {
    text: reports.map(({ text }) => text).join('\n\n'),
    rows: reports.flatMap(({ rows }) => rows),
  };
}

async function contestantsOf(
  arena: Arena,
  transport: PhoneKind['transport'],
  options: LoadOptions,
): Promise<Contestant[]> {
  const { codes, uniform: requests } = fieldOf(options);
  const isTls = transport === 'tls';
  const environment = isTls ? tlsEnvironment : {};
  const bare = await arena.rival(
    'uws',
    [targetOf(1), ...(isTls ? [certificate.tlsCertFile, certificate.tlsKeyFile] : [])],
    { scheme: isTls ? 'https:' : undefined },
  );
  const { server } = await arena.service({ codes, environment });
  const contestants: Contestant[] = [
    { name: 'bare uWS', server: bare, requests },
    { name: 'ours, socket', server, requests },
  ];
  if (options.previous !== undefined) {
    const tree = arena.checkOut(options.previous);
    const previous = await arena.service({ codes, environment, tree });
    contestants.push({ name: `${options.previous}, socket`, server: previous.server, requests });
  }
  const nginx = await arena.nginx(isTls ? certificate : undefined);
  if (nginx !== undefined) contestants.push({ name: 'nginx, access log', server: nginx, requests });
  return contestants;
}

async function warmUp(
  { server: { port }, requests }: Contestant,
  transport: PhoneKind['transport'],
  options: LoadOptions,
): Promise<void> {
  const { generator, connections } = scheduleOf(options);
  const seconds = options.isQuick ? options.seconds : warmUpSeconds;
  const scheme = transport === 'tls' ? 'https:' : undefined;
  await generator.run({ port, scheme, method: 'GET', requests, connections, seconds });
}

function targetsOf(transport: PhoneKind['transport'], results: readonly Result[]): string[] {
  const [bare, ours] = results as [Result, Result];
  const measured = differenceOf(ours, bare, redirectOf);
  const atMost = aboveMax[transport];
  return [formatTarget({ what: 'redirect thread above bare', measured, unit: ' µs', atMost })];
}
