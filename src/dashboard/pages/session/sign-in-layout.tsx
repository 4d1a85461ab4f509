/** The head of pages outside the frame. */
import { Logo } from '../../parts/icon.tsx';

export function SignInHead({ title }: { readonly title: string }) {
  return (
    <header class="sign-in-head">
      <span class="brand">
        <Logo size={36} />
        Quietzone
      </span>
      <h1>{title}</h1>
    </header>
  );
}
