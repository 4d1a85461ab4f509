/** The meaning of the colors: `None`, `1–9`, `10–99` … */
import { formatShort } from '../client/format.ts';
import { stepClass } from './color-steps.ts';

interface LegendProps {
  /** The lowest number of each step. */
  readonly steps: readonly number[];
  readonly most: number;
}

export function ColorLegend({ steps, most }: LegendProps) {
  return (
    <ul class="color-legend" aria-label="Colors, in scans">
      <li>
        <span class="color-sample step-0" />
        None
      </li>
      {steps.map((start, step) => (
        <li key={start}>
          <span class={`color-sample ${stepClass(start, steps)}`} />
          {spanText(start, (steps[step + 1] ?? most + 1) - 1)}
        </li>
      ))}
    </ul>
  );
}

const spanText = (first: number, last: number): string =>
  first >= last ? formatShort(first) : `${formatShort(first)}–${formatShort(last)}`;
