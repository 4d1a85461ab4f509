/**
 * Native dialogs: the browser keeps the focus inside, closes them with Esc and restores the focus. Open
 * while they are rendered. A click outside closes a dialog only if it has no typed text and no secret that is shown
 * once. Such a secret stays until the user copies it or confirms that it is saved.
 */
import { DialogForm } from './form.tsx';
import { Notice } from './notice.tsx';
import { CopyLine } from './copy.tsx';
import { askBeforeLeaving } from '../client/router.ts';
import { useForm } from '../client/use-form.ts';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Button, type Tone } from './button.tsx';
import { TextField } from './field.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly width?: 'narrow' | 'wide';
  readonly clickBeside?: 'stays' | 'closes';
  /** Only the caller's own buttons close it. */
  readonly isLocked?: boolean;
}

export function Dialog(props: DialogProps) {
  const { title, onClose, children, width = 'narrow', clickBeside = 'stays' } = props;
  const { isLocked = false } = props;
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
      // Chromium does not ask `cancel` about a second Esc in a row.
      closedby={isLocked ? 'none' : undefined}
      onCancel={(event) => {
        event.preventDefault();
        if (!isLocked) onClose();
      }}
      onClick={(event) => {
        if (clickBeside === 'closes' && event.target === element.current) onClose();
      }}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={titleId}>{title}</h2>
          {!isLocked && <Button tone="quiet" icon="close" label="Close" onClick={onClose} />}
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
  /** Text of the button that only closes, if "Cancel" is ambiguous. */
  readonly keep?: string;
  readonly tone?: Tone;
  /** Text that the user must type before an action that cannot be undone. */
  readonly typed?: string;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}

/** Asks for confirmation, runs the action, and stays open with the problem if it fails. */
export function Confirm(props: ConfirmProps) {
  const { title, children, tone = 'danger', typed, onConfirm, onClose, ...texts } = props;
  const form = useForm({ typed: '' });
  const isReady = typed === undefined || form.texts.typed.trim() === typed;
  const confirm = async (): Promise<void> => {
    if (!isReady) return;
    await onConfirm();
    onClose();
  };
  const submit = { form, tone, disabled: !isReady, ...texts };
  return (
    <Dialog title={title} onClose={onClose}>
      <DialogForm {...submit} onSubmit={confirm} onClose={onClose}>
        <div class="prose">{children}</div>
        {typed !== undefined && (
          <TextField label={`Type “${typed}” to confirm`} {...form.field('typed')} />
        )}
      </DialogForm>
    </Dialog>
  );
}

interface SecretProps {
  readonly title: string;
  readonly secret: string;
  /** Name of the secret, for its copy button. */
  readonly label: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A secret that is shown once. Until it is saved, Esc is ignored and leaving the page asks. */
export function SecretDialog(props: SecretProps) {
  const { title, secret, label, onClose, children } = props;
  const [isCopied, setCopied] = useState(false);
  useEffect(() => (isCopied ? undefined : askBeforeLeaving(() => true)), [isCopied]);
  return (
    <Dialog title={title} onClose={onClose} isLocked={!isCopied}>
      <div class="dialog-form">
        <Notice tone="warn" title="Shown only once: copy it now">
          <p>{children}</p>
        </Notice>
        <CopyLine text={secret} label={label} onCopied={() => setCopied(true)} hasFocus />
        <footer class="dialog-foot">
          <Button tone="accent" onClick={onClose}>
            I have saved it
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}
