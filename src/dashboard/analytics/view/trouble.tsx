/** Why there are no numbers for these days, filters or zone, and what there would be numbers for. */
import type { Problem } from '../../client/problem.ts';
import { pushQuery } from '../../client/router.ts';
import { Button } from '../../parts/button.tsx';
import { Notice, ProblemNotice } from '../../parts/notice.tsx';
import { explain } from './query-faults.ts';
import type { View } from './use-analytics.ts';

interface TroubleProps {
  readonly problem: Problem;
  readonly view: View;
  readonly onRetry: () => void;
}

export function Trouble({ problem, view, onRetry }: TroubleProps) {
  const explained = explain(problem, view.zone);
  if (explained === undefined) return <ProblemNotice problem={problem} onRetry={onRetry} />;
  return (
    <Notice tone="warn" title={explained.title}>
      <p>{explained.message}</p>
      <p class="notice-ways">
        {explained.ways.map(({ label, change }) => (
          <Button key={label} size="small" onClick={() => pushQuery(change)}>
            {label}
          </Button>
        ))}
      </p>
    </Notice>
  );
}
