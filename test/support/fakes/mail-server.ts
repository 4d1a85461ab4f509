/** A real SMTP server on a free port that keeps what it gets. */
import { once } from 'node:events';
import { SMTPServer } from 'smtp-server';
import { eventually } from '../soon.ts';

export interface ReceivedMail {
  readonly to: readonly string[];
  /** As it came over the wire. */
  readonly source: string;
}

export interface MailServer {
  /** `QZ_…` variables that send mail here. */
  readonly environment: Readonly<Record<string, string>>;
  /** The next mail, waited for. */
  next(): Promise<ReceivedMail>;
  close(): Promise<void>;
}

export async function startMailServer(): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    // Whose address the client's is, no name server of this machine needs to say before the greeting.
    disableReverseLookup: true,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) =>
      password === 'mail-password' ? done(null, { user: username }) : done(new Error('no')),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const to = session.envelope.rcptTo.map(({ address }) => address);
        mails.push({ to, source: Buffer.concat(chunks).toString('utf8') });
        done();
      });
    },
  });
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const address = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    environment: {
      QZ_MAIL_HOST: '127.0.0.1',
      QZ_MAIL_PORT: String(port),
      QZ_MAIL_REQUIRE_TLS: 'false',
      QZ_MAIL_USER: 'quietzone',
      QZ_MAIL_PASSWORD: 'mail-password',
      QZ_MAIL_FROM: 'Quietzone <quietzone@example.com>',
    },
    next: async () => {
      await eventually(() => mails.length > 0, 'a mail');
      return mails.shift()!;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
