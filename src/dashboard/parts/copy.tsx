/**
 * Buttons that copy a text. Browsers allow the clipboard only over https and on localhost; a service in an
 * office is often reached by plain http, where the older `execCommand` still works.
 */
import { useState } from 'preact/hooks';
import { Problem } from '../client/problem.ts';
import { Button } from './button.tsx';
import { sayProblem } from './toast.tsx';

const thanksMs = 1_600;

interface CopyProps {
  readonly text: string;
  readonly label?: string;
  readonly onCopied?: () => void;
  readonly hasFocus?: boolean;
}

export function CopyButton({ text, label = 'Copy', onCopied, hasFocus = false }: CopyProps) {
  const [isDone, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    if (!(await isCopied(text))) {
      const detail = 'The browser does not allow copying here. Select the text and copy it.';
      sayProblem(new Problem(0, { detail }));
      return;
    }
    onCopied?.();
    setDone(true);
    setTimeout(() => setDone(false), thanksMs);
  };
  return (
    <Button
      tone="quiet"
      size="small"
      icon={isDone ? 'check' : 'copy'}
      label={isDone ? 'Copied' : label}
      hasFocus={hasFocus}
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

/** Selects the text in a new field next to the button: an open dialog blocks fields outside it. */
function isCopiedBySelection(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'unseen';
  (before?.parentElement ?? document.body).append(field);
  field.select();
  // Deprecated, but the only way without a secure context.
  // oxlint-disable-next-line typescript/no-deprecated
  const isDone = document.execCommand('copy');
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isDone;
}

/** A secret or an address in full, with a copy button. */
export function CopyLine({ text, label, ...rest }: CopyProps & { readonly label: string }) {
  return (
    <div class="copy-line">
      <code aria-label={label} tabIndex={0}>
        {text}
      </code>
      <CopyButton text={text} label={`Copy ${label}`} {...rest} />
    </div>
  );
}
