/**
 * Native dialogs: the browser keeps the focus inside, closes them with Esc and restores the focus. Open
 * as long as they are rendered. A click beside a dialog closes it only if nothing can be lost by it: no typed
 * text, and no secret that is shown once.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { type Problem, problemOf } from '../client/problem.ts';
import { Button, type Tone } from './button.tsx';
import { TextField } from './field.tsx';
import { ProblemNotice } from './notice.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly width?: 'narrow' | 'wide';
  readonly clickBeside?: 'stays' | 'closes';
}

export function Dialog(props: DialogProps) {
  const { title, onClose, children, width = 'narrow', clickBeside = 'stays' } = props;
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current;
    if (dialog === null) return undefined;
    const back = document.activeElement;
    if (!dialog.open) dialog.showModal();
    return () => {
      dialog.close();
      // The button may have disappeared with its row.
      const place = back?.isConnected === true ? back : document.querySelector('main h1');
      if (place instanceof HTMLElement) place.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog dialog-${width}`}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (clickBeside === 'closes' && event.target === element.current) onClose();
      }}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={titleId}>{title}</h2>
          <Button tone="quiet" icon="close" label="Close" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** The button's text. */
  readonly action: string;
  readonly tone?: Tone;
  /** Text that the user must type first, for what cannot be undone. */
  readonly typed?: string;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}

/** Asks for confirmation, runs the action, and stays open with the problem if it fails. */
export function Confirm(props: ConfirmProps) {
  const { title, children, action, tone = 'danger', typed, onConfirm, onClose } = props;
  const [text, setText] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const confirm = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      setProblem(problemOf(error));
      setBusy(false);
    }
  };
  const isReady = typed === undefined || text.trim() === typed;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="dialog-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !isBusy) void confirm();
        }}
      >
        <div class="prose">{children}</div>
        {typed !== undefined && (
          <TextField label={`Type “${typed}” to confirm`} value={text} onInput={setText} />
        )}
        {problem && <ProblemNotice problem={problem} />}
        <footer class="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone={tone} isBusy={isBusy} disabled={!isReady}>
            {action}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
