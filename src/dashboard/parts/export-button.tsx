/** A button that saves an answer of the API as a CSV file. */
import { useState } from 'preact/hooks';
import { downloadAnswer } from '../client/download.ts';
import { Button } from './button.tsx';
import { sayProblem } from './toast.tsx';

interface ExportProps {
  /** Below /v1. */
  readonly path: string;
  readonly fileName: string;
  readonly label: string;
  /** What the file is of, for screen readers, where several buttons have one label. */
  readonly of?: string;
  readonly size?: 'small' | 'medium';
}

export function ExportButton({ path, fileName, label, of, size = 'small' }: ExportProps) {
  const [isBusy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    setBusy(true);
    await downloadAnswer(path, 'text/csv', fileName).catch(sayProblem);
    setBusy(false);
  };
  return (
    <Button size={size} icon="download" isBusy={isBusy} onClick={() => void save()}>
      {label}
      {of !== undefined && <span class="unseen"> of {of}</span>}
    </Button>
  );
}
