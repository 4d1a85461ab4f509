/** A button that saves the API's answer as a CSV file: each list and table has one below it. */
import { useState } from 'preact/hooks';
import { downloadAnswer } from '../client/download.ts';
import { Button } from './button.tsx';
import { sayProblem } from './toast.tsx';

interface ExportProps {
  /** Path of the list or table, below /v1. */
  readonly path: string;
  readonly fileName: string;
  readonly label: string;
  /** Name of the list, for screen readers, if several buttons have the same label. */
  readonly of?: string;
  readonly size?: 'small' | 'medium';
}

export function ExportButton({ path, fileName, label, of, size = 'small' }: ExportProps) {
  const [isBusy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    setBusy(true);
    const file = path.replace(/(?=\?|$)/, '/export.csv');
    await downloadAnswer(file, 'text/csv', fileName).catch(sayProblem);
    setBusy(false);
  };
  return (
    <Button size={size} icon="download" isBusy={isBusy} onClick={() => void save()}>
      {label}
      {of !== undefined && <span class="unseen"> of {of}</span>}
    </Button>
  );
}
