/** The rules for Prometheus and the dashboard for Grafana ask for metrics and labels that a running service has. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import dashboard from '../../config/grafana/quietzone.json' with { type: 'json' };
import { sharedFolder } from '../store/temporary-management.ts';
import { TestService } from '../support/test-service.ts';

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const rules = read('config/prometheus/rules.yml');
const guide = read('src/api/docs/guides/monitor.md');
const alerts = [...rules.matchAll(/- alert: (\w+)\n\s+expr: (.+)/g)].map(
  ([, name = '', expr = '']) => ({
    name,
    expr,
  }),
);
const expressions = [
  ...alerts.map(({ expr }) => expr),
  ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
];

/** Labels of each metric. Prometheus adds `instance`. */
const labelsOf = new Map(
  [...guide.matchAll(/^\| `(quietzone_\w+)` \| \w+ \| ([^|]*)\|/gm)].map(
    ([, name = '', labels = '']) => [name, [...labels.matchAll(/\w+/g)].map(String)],
  ),
);
const withoutPart = (name: string): string => name.replace(/_bucket$/, '');

let service: TestService;
beforeAll(async () => {
  service = await TestService.start({ dataDir: join(sharedFolder(), 'data') });
});
afterAll(() => service.close());

test('each metric exists', async () => {
  const shown = [...(await service.metrics()).matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name);
  const names = expressions.flatMap((expr) => expr.match(/\b(?:quietzone|process)_\w+/g) ?? []);
  expect(new Set(names).size).toBeGreaterThan(20);
  const unknown = new Set(names.map(withoutPart)).difference(new Set(shown));
  const ofClusters = [...unknown].filter((name) => name.startsWith('quietzone_cluster_'));
  expect([...unknown]).toEqual(ofClusters);
  expect(ofClusters.filter((name) => !labelsOf.has(name))).toEqual([]);
});

test('each label exists', () => {
  const wrong = expressions.filter((expr) => {
    const names = expr.match(/quietzone_\w+/g) ?? [];
    const known = names.flatMap((name) => labelsOf.get(withoutPart(name)) ?? []);
    const [, by = ''] = /by \(([^)]*)\)/.exec(expr) ?? [];
    const asked = [
      ...by.split(','),
      ...[...expr.matchAll(/(\w+)=~?"(?!quietzone)/g)].map(([, label]) => label),
    ];
    return asked.some((label = '') => !['', 'le', 'instance', ...known].includes(label.trim()));
  });
  expect(wrong).toEqual([]);
});

test('the guide explains each alert', () => {
  const explained = [...guide.matchAll(/^\| `(Quietzone\w+)`/gm)].map(String);
  const named = alerts.map(({ name }) => `| \`${name}\`,${name}`);
  expect(alerts).toHaveLength(10);
  expect(explained.toSorted()).toEqual(named.toSorted());
});
