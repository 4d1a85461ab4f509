/** A text with a button that copies it. */
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { sayProblem } from './toast.tsx';

const thanksMs = 1_600;

export function CopyButton({
  text,
  label = 'Copy',
}: {
  readonly text: string;
  readonly label?: string;
}) {
  const [isDone, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      sayProblem(new Error('the browser does not let it copy; select the text instead'));
      return;
    }
    setDone(true);
    setTimeout(() => setDone(false), thanksMs);
  };
  return (
    <Button
      tone="quiet"
      size="small"
      icon={isDone ? 'check' : 'copy'}
      label={isDone ? 'Copied' : label}
      onClick={() => void copy()}
    />
  );
}

/** A secret or an address in full, to be copied. */
export function CopyLine({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="copy-line">
      <code aria-label={label} tabIndex={0}>
        {text}
      </code>
      <CopyButton text={text} label={`Copy ${label}`} />
    </div>
  );
}
