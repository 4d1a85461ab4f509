/**
 * A text with a button that copies it. Browsers hand out the clipboard over https and on localhost alone; a
 * service in an office is often reached by plain http, and there the older way does it.
 */
import { useState } from 'preact/hooks';
import { Problem } from '../client/problem.ts';
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
    if (!(await isCopied(text))) {
      const detail = 'The browser does not allow copying here. Please select the text and copy it.';
      sayProblem(new Problem(0, { detail }));
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

async function isCopied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return isCopiedBySelection(text);
  }
}

/** Selects the text in a field of its own, beside the button: elsewhere an open dialog would not let it. */
function isCopiedBySelection(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'unseen';
  (before?.parentElement ?? document.body).append(field);
  field.select();
  // Deprecated, and the only way without a secure context.
  // oxlint-disable-next-line typescript/no-deprecated
  const isDone = document.execCommand('copy');
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isDone;
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
