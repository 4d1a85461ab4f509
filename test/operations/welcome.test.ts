/** What the terminal shows at a start whose codes no phone could open, and which of a machine's addresses it names. */
import { expect, it } from 'vitest';
import { type Interfaces, networkHosts } from '../../src/operations/welcome.ts';
import { startCommand, welcome } from '../../src/operations/welcome.ts';
import { loadConfig } from '../../src/platform/config/config.ts';

const four = (address: string, internal = false) =>
  ({ family: 'IPv4', address, netmask: '', mac: '', internal, cidr: null }) as const;
const six = (address: string, internal = false) =>
  ({ family: 'IPv6', address, netmask: '', mac: '', internal, cidr: null, scopeid: 0 }) as const;

const machine: Interfaces = {
  lo: [four('127.0.0.1', true), six('::1', true)],
  docker0: [four('172.17.0.1')],
  eth0: [
    six('fe80::1'),
    six('2001:db8::7'),
    four('203.0.113.7'),
    six('fd00::7'),
    four('169.254.1.1'),
  ],
  wlan0: [four('10.0.0.7'), four('192.168.1.7')],
  tun0: [four('172.20.0.7')],
};

const said = (environment: Readonly<Record<string, string>>, interfaces = machine): string =>
  welcome(
    loadConfig(undefined, environment),
    undefined,
    interfaces,
    startCommand({ target: '' }, 'node'),
  );

it('names the addresses of a machine that others reach, private networks first', () => {
  expect(networkHosts(machine)).toEqual([
    '192.168.1.7',
    '10.0.0.7',
    '172.20.0.7',
    '203.0.113.7',
    '[fd00::7]',
    '[2001:db8::7]',
  ]);
});

it('a local address comes with the command that sets another, and what becomes of prints', () => {
  const text = said({});
  expect(text).toContain('QZ_SHORT_URL_BASE=http://192.168.1.7:8081 npm start');
  expect(text).toContain('"shortUrlBase": "http://192.168.1.7:8081"');
  expect(text).toContain('it also has 10.0.0.7');
  expect(text).toMatch(/prints keep\s+the address/);
});

it('the command keeps scheme, port and path, and opens a port that listens to this machine alone', () => {
  const environment = {
    QZ_REDIRECT_HOST: '127.0.0.1',
    QZ_SHORT_URL_BASE: 'https://localhost/q',
  };
  expect(said(environment, { eth0: [six('2001:db8::7')] })).toContain(
    'QZ_REDIRECT_HOST=0.0.0.0 QZ_SHORT_URL_BASE=https://[2001:db8::7]/q npm start',
  );
  expect(said({}, {})).toContain('QZ_SHORT_URL_BASE=http://192.168.x.y:8081 npm start');
});

it('an address that phones reach is printed as it is', () => {
  expect(said({ QZ_SHORT_URL_BASE: 'https://go.example.com' })).not.toContain('npm start');
});

it('in the one file the command is the file', () => {
  const start = startCommand({ target: 'linux-x64' }, './quietzone');
  const text = welcome(loadConfig(undefined, {}), undefined, machine, start);
  expect(text).toContain('QZ_SHORT_URL_BASE=http://192.168.1.7:8081 ./quietzone\n');
});

it('a core says which node it is; an edge says that it redirects, and nothing of what it has not', () => {
  const brokers = { QZ_CLUSTER_NATS: 'nats://n1:4222', QZ_CLUSTER_NODE_NAME: 'berlin-1' };
  const core = said({
    ...brokers,
    QZ_CLUSTER_SECRET: 'a secret of 32 characters or more',
    QZ_CLUSTER_ADVERTISE_URL: 'https://n1',
  });
  expect(core).toContain('  Dashboard ');
  expect(core).toContain('  Cluster        node berlin-1, role all\n');
  expect(said({})).not.toContain('Cluster');
  const edge = said({ ...brokers, QZ_CLUSTER_ROLE: 'edge' });
  expect(edge).toContain('  This machine redirects for a cluster, as its edge berlin-1.');
  expect(edge).toContain('  Redirects      on 0.0.0.0:8081\n');
  expect(edge).not.toMatch(/\/v1|\/docs|QZ_|Short links/);
});
