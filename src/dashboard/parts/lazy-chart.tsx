/** Loads the chart when one is first shown; until then a placeholder of its size. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ChartProps } from './chart.tsx';
import { Skeleton } from './page.tsx';

let loaded: ComponentType<ChartProps> | undefined;

/** Starts loading early if a chart follows. Undefined if it cannot load: the page works without it. */
export async function loadChart(): Promise<ComponentType<ChartProps> | undefined> {
  try {
    loaded ??= (await import('./chart.tsx')).Chart;
  } catch {
    return undefined;
  }
  return loaded;
}

export const chartHeight = 240;

export function LazyChart(props: ChartProps) {
  const [Chart, setChart] = useState<ComponentType<ChartProps> | undefined>(() => loaded);
  useEffect(() => {
    if (Chart !== undefined) return;
    void loadChart().then((chart) => setChart(() => chart));
  }, [Chart]);
  return Chart === undefined ? <Skeleton height={chartHeight} /> : <Chart {...props} />;
}
