/** What the terminal shows once the service runs: where it is and, the first time, how to get in. */
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
