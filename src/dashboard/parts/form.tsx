/** Forms that the API validates: the browser neither checks nor sends them. */
import type { ComponentChildren } from 'preact';
import type { Submission } from '../client/use-form.ts';
import { Button, type Tone } from './button.tsx';
import { ProblemNotice } from './notice.tsx';

interface PlainFormProps {
  readonly class: string;
  readonly form: Submission;
  readonly onSubmit: () => Promise<void>;
  /** Below the fields and the problem: the buttons. */
  readonly foot: ComponentChildren;
  readonly children: ComponentChildren;
}

export function PlainForm({ class: name, form, onSubmit, foot, children }: PlainFormProps) {
  const problem = form.otherProblem();
  return (
    <form
      class={name}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        form.submit(onSubmit);
      }}
    >
      {children}
      {problem && <ProblemNotice problem={problem} />}
      {foot}
    </form>
  );
}

interface SubmitProps {
  readonly form: Submission;
  /** The button's text. */
  readonly action: string;
  readonly tone?: Tone;
  readonly disabled?: boolean;
  readonly hasFocus?: boolean;
}

export function SubmitButton({ form, action, tone = 'accent', disabled, hasFocus }: SubmitProps) {
  return (
    <Button
      type="submit"
      tone={tone}
      isBusy={form.isBusy}
      disabled={disabled ?? false}
      hasFocus={hasFocus ?? false}
    >
      {action}
    </Button>
  );
}

interface FormProps extends Omit<SubmitProps, 'action'> {
  readonly class?: string;
  /** The submit button's text; false leaves the buttons out. */
  readonly action: string | false;
  readonly onSubmit: () => Promise<void>;
  /** Buttons next to the submit button. */
  readonly more?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A form in a page. */
export function Form(props: FormProps) {
  const { class: name = 'form', action, onSubmit, more, children, ...submit } = props;
  const foot = action !== false && (
    <div class="form-foot">
      <SubmitButton {...submit} action={action} />
      {more}
    </div>
  );
  return (
    <PlainForm class={name} form={submit.form} onSubmit={onSubmit} foot={foot}>
      {children}
    </PlainForm>
  );
}

interface DialogFormProps extends SubmitProps {
  readonly onSubmit: () => Promise<void>;
  readonly onClose: () => void;
  /** Text of the button that only closes. */
  readonly keep?: string;
  readonly children: ComponentChildren;
}

/** A form in a dialog. */
export function DialogForm(props: DialogFormProps) {
  const { onSubmit, onClose, keep = 'Cancel', children, ...submit } = props;
  const foot = (
    <footer class="dialog-foot">
      <Button onClick={onClose}>{keep}</Button>
      <SubmitButton {...submit} />
    </footer>
  );
  return (
    <PlainForm class="dialog-form" form={submit.form} onSubmit={onSubmit} foot={foot}>
      {children}
    </PlainForm>
  );
}
