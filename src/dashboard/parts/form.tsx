/** A form that the API validates: the browser neither checks nor sends it. */
import type { ComponentChildren } from 'preact';

interface FormProps {
  readonly class: string;
  readonly onSubmit: () => void;
  readonly children: ComponentChildren;
}

export function Form({ class: name, onSubmit, children }: FormProps) {
  return (
    <form
      class={name}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}
