/** The text that the terminal shows once the service runs: its addresses and, the first time, the sign-in. */
import type { Config } from '../config.ts';
import type { Bootstrapped } from '../workspaces/workspaces.ts';

export function welcome(config: Config, first: Bootstrapped | undefined): string {
  const api = config.api.publicUrl;
  const lines = [
    '',
    '  Quietzone is ready.',
    '',
    `  Dashboard      ${api}/`,
    `  API            ${api}/v1   (reference: ${api}/docs)`,
    `  Short links    ${config.shortUrlBase}/…`,
  ];
  if (first !== undefined) lines.push(...secrets(api, first));
  return [...lines, ''].join('\n');
}

/** The first owner's sign-in, where a command creates the first workspace before the service has run. */
export function firstOwner({ user, password }: Bootstrapped): string {
  return `Created the first workspace. Its owner signs in as ${user.email}, password ${password} (shown once)`;
}

function secrets(api: string, { user, password, apiKey }: Bootstrapped): string[] {
  return [
    '',
    '  First start: this is shown once, keep it.',
    '',
    `  Sign in        ${user.email}`,
    `  Password       ${password}`,
    `  API key        ${apiKey}`,
    '',
    '  Make a first code:',
    '',
    `  curl -X POST ${api}/v1/qr-codes \\`,
    `    -H 'Authorization: Bearer ${apiKey}' \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '{"target": "https://example.com/menu"}'`,
  ];
}
