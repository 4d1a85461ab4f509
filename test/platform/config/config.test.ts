import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { ConfigError, loadConfig } from '../../../src/platform/config/config.ts';
import { shipped } from '../../../src/platform/shipped.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function file(content: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-config-'));
  folders.push(folder);
  const path = join(folder, 'config.json');
  writeFileSync(path, content);
  return path;
}

const faults = (content: string, environment = {}): string => {
  try {
    loadConfig(content === '' ? undefined : file(content), environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return '';
};

test('loadConfig lays the file over the defaults and variables over the file', () => {
  const path = file('{"api": {"port": 9000}, "dataDir": "/x", "trustedProxies": ["10.0.0.1"]}');
  const config = loadConfig(path, { QZ_API_PORT: '9001', QZ_TRUSTED_PROXIES: '127.0.0.0/8, ::1' });
  expect(config.api.port).toBe(9001);
  expect(config.dataDir).toBe('/x');
  expect(config.trustedProxies).toEqual(['127.0.0.0/8', '::1']);
  expect(config.redirect.port).toBe(8081);
  expect(loadConfig(undefined, { QZ_CONFIG: path }).api.port).toBe(9000);
});

test('public addresses follow the ports until they are chosen', () => {
  const standard = loadConfig(undefined, {});
  expect([standard.api.publicUrl, standard.shortUrlBase]).toEqual([
    'http://localhost:8080',
    'http://localhost:8081',
  ]);
  const ports = { QZ_API_PORT: '9001', QZ_REDIRECT_PORT: '9002' };
  const moved = loadConfig(undefined, ports);
  expect([moved.api.publicUrl, moved.shortUrlBase]).toEqual([
    'http://localhost:9001',
    'http://localhost:9002',
  ]);
  const path = file('{"shortUrlBase": "https://go.example.com"}');
  const chosen = loadConfig(path, { ...ports, QZ_API_PUBLIC_URL: 'https://qr.example.com' });
  expect([chosen.api.publicUrl, chosen.shortUrlBase]).toEqual([
    'https://qr.example.com',
    'https://go.example.com',
  ]);
  const tls = { QZ_REDIRECT_TLS_CERT_FILE: '/c', QZ_REDIRECT_TLS_KEY_FILE: '/k' };
  expect(loadConfig(undefined, tls).shortUrlBase).toBe('https://localhost:8081');
  const apiTls = { QZ_API_TLS_CERT_FILE: '/c', QZ_API_TLS_KEY_FILE: '/k' };
  expect(loadConfig(undefined, apiTls).api.publicUrl).toBe('https://localhost:8080');
  expect(faults('', { ...apiTls, QZ_API_PUBLIC_URL: 'http://qr.example.com' })).toContain(
    'api.publicUrl begins with http:',
  );
  const usual = loadConfig(undefined, { QZ_API_PORT: '81', QZ_REDIRECT_PORT: '80' });
  expect([usual.api.publicUrl, usual.shortUrlBase]).toEqual([
    'http://localhost:81',
    'http://localhost',
  ]);
  const fault = faults('', { QZ_API_PORT: 'abc' });
  expect(fault).toContain('QZ_API_PORT');
  expect(fault).not.toContain('publicUrl');
});

test('loadConfig names every fault with its source', () => {
  const text = faults('{"api": {"port": 0, "prot": 1}, "durability": "maybe"}');
  expect(text).toContain('api.port');
  expect(text).toContain('unknown key prot');
  expect(text).toContain('durability');
  const core = { QZ_CLUSTER_NATS: 'nats://n1', QZ_CLUSTER_SECRET: 'x'.repeat(32) };
  const at = (url: string, more = {}): string =>
    faults('', { ...core, QZ_CLUSTER_ADVERTISE_URL: url, ...more });
  expect(at('http://n1:8080')).toContain('cluster.advertiseUrl is http://n1:8080, so sign-ins');
  const allowed = [
    at('https://n1:8080'),
    at('http://127.0.0.1:8080'),
    at('http://n1:8080', { QZ_CLUSTER_PLAIN_HTTP: 'true' }),
    at('http://n1:8080', { QZ_CLUSTER_ROLE: 'edge', QZ_CLUSTER_SECRET: '' }),
  ];
  expect(allowed).toEqual(['', '', '', '']);
  expect(faults('', { QZ_REDIRECT_PORT: 'http' })).toContain('QZ_REDIRECT_PORT: redirect.port');
  expect(faults('', { QZ_TRUSTED_PROXIES: '10.0.0.1,300.1.1.1' })).toContain(
    'QZ_TRUSTED_PROXIES: trustedProxies.1: expected an address or a CIDR block',
  );
  for (const base of ['https://s.example?x=1', 'https://s.example#x', 'https://u:p@s.example']) {
    expect(faults('', { QZ_SHORT_URL_BASE: base })).toContain(
      'QZ_SHORT_URL_BASE: shortUrlBase: must have no',
    );
  }
  const { webhooks } = loadConfig(undefined, { QZ_WEBHOOKS_RETRY_DELAYS_MS: '20, 40' });
  expect(webhooks.retryDelaysMs).toEqual([20, 40]);
  for (const url of ['javascript:alert(1)', 'ftp://example.com', '/menu', 'https://e.co/a b']) {
    expect(faults('', { QZ_REDIRECT_ROOT_URL: url })).toContain('redirect.rootUrl');
  }
  const domain = { QZ_SHORT_URL_BASE: 'https://s.example' };
  for (const url of ['https://s.example', 'https://S.example/', 'https://s.example:443/?a=b']) {
    expect(faults('', { ...domain, QZ_REDIRECT_ROOT_URL: url })).toContain('redirect.rootUrl');
  }
  expect(faults('', { ...domain, QZ_REDIRECT_ROOT_URL: 'https://s.example/ABC' })).toBe('');
  for (const url of ['javascript:alert(1)', 'data:text/html,x', 'help']) {
    expect(faults('', { QZ_PAGES_SUPPORT_URL: url })).toContain('pages.supportUrl');
  }
  expect(faults('', { QZ_PAGES_SUPPORT_URL: 'tel:+491234' })).toBe('');
  expect(faults('', { QZ_PAGES_COLOUR: 'red' })).toContain('must be a color as #0f6b5c');
  expect(faults('', { QZ_WEBHOOKS_RETRY_DELAYS_MS: '20,soon' })).toContain(
    'QZ_WEBHOOKS_RETRY_DELAYS_MS: webhooks.retryDelaysMs.1',
  );
  expect(faults('', { QZ_NO_SUCH: '1', QZ_OTHER: '2' })).toContain('QZ_NO_SUCH, QZ_OTHER');
  expect(faults('{"api": ')).toContain('Cannot parse configuration');
  expect(faults('[]')).toContain('expected a JSON object');
  expect(faults('', { QZ_CONFIG: '/no/such/file' })).toContain('ENOENT');
  for (const at of ['API', 'REDIRECT']) {
    const name = at.toLowerCase();
    expect(faults('', { [`QZ_${at}_TLS_CERT_FILE`]: 'c.pem' })).toContain(
      `${name}.tlsCertFile and ${name}.tlsKeyFile go together`,
    );
    expect(faults('', { [`QZ_${at}_HTTP_PORT`]: '80' })).toContain(
      `${name}.httpPort is set without TLS`,
    );
    const pair = { [`QZ_${at}_TLS_CERT_FILE`]: '/c', [`QZ_${at}_TLS_KEY_FILE`]: '/k' };
    const same = { [`QZ_${at}_PORT`]: '443', [`QZ_${at}_HTTP_PORT`]: '443' };
    expect(faults('', { ...pair, ...same })).toContain('are both 443, expected two ports');
  }
});

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');

test('compose.yaml runs the image of this version, and every setting in it is one', () => {
  const compose = read('../../../config/compose.yaml');
  expect(compose).toContain(`image: quietzone:${shipped.version}\n`);
  expect(read('../../../config/release/packages/Dockerfile')).toContain(
    ` quietzone:${shipped.version} `,
  );
  const [, settings = ''] = /^    environment:\n([^]*?)^    volumes:/m.exec(compose) ?? [];
  const named = [...settings.matchAll(/(QZ_\w+): (\S+)/g)].map(([, name = '', value]) => [
    name,
    value,
  ]);
  expect(named.length).toBeGreaterThan(2);
  expect(() => loadConfig(undefined, Object.fromEntries(named))).not.toThrow();
});
