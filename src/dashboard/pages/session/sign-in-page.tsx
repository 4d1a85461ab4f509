/** The sign-in page. The address stays, so that a link opens after signing in. */
import { useEffect } from 'preact/hooks';
import { currentPath, replaceAddress } from '../../client/router.ts';
import { signIn } from '../../client/session.ts';
import { useForm } from '../../client/use-form.ts';
import { Button } from '../../parts/button.tsx';
import { TextField } from '../../parts/field.tsx';
import { Notice } from '../../parts/notice.tsx';
import { pathTo } from '../../paths.ts';
import { SignInHead } from './sign-in-layout.tsx';

export function SignInPage() {
  const form = useForm({ email: '', password: '' });
  useEffect(() => {
    document.title = 'Sign in · Quietzone';
  }, []);
  const enter = async (): Promise<void> => {
    const { email, password } = form.texts;
    await signIn(email.trim(), password);
    if (currentPath.value === pathTo('signIn')) replaceAddress(pathTo('overview'));
  };
  const { problem } = form;
  return (
    <main class="sign-in">
      <SignInHead title="Sign in" />
      <form
        class="sign-in-form"
        onSubmit={(event) => {
          event.preventDefault();
          form.submit(enter);
        }}
      >
        <TextField
          label="E-mail"
          type="email"
          name="email"
          autocomplete="username"
          {...form.field('email')}
          isRequired
          hasFocus
        />
        <TextField
          label="Password"
          type="password"
          name="password"
          autocomplete="current-password"
          {...form.field('password')}
          isRequired
        />
        {problem && (
          <Notice tone="bad">
            <p>{problem.status === 401 ? 'Wrong e-mail or password.' : problem.message}</p>
          </Notice>
        )}
        <Button type="submit" tone="accent" isBusy={form.isBusy}>
          Sign in
        </Button>
      </form>
      <p class="sign-in-foot">
        First time here? The terminal showed the owner’s e-mail and password at the first start. An
        operator sets a new password with <code>quietzone users reset-password</code>.
      </p>
    </main>
  );
}
