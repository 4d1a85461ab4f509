/** A form whose faults are the API's to tell: the browser neither checks it nor sends it. */
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
