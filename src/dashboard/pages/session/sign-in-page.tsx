/** The sign-in page. The address stays, so that a link opens after signing in. */
import { useEffect, useState } from 'preact/hooks';
import { type Problem, problemOf } from '../../client/problem.ts';
import { currentPath, replaceAddress } from '../../client/router.ts';
import { signIn } from '../../client/session.ts';
import { Button } from '../../parts/button.tsx';
import { TextField } from '../../parts/field.tsx';
import { Notice } from '../../parts/notice.tsx';
import { pathTo } from '../../paths.ts';
import { SignInHead } from './sign-in-layout.tsx';

export function SignInPage() {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    document.title = 'Sign in · Quietzone';
  }, []);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await signIn(email.trim(), password);
      if (currentPath.value === pathTo('signIn')) replaceAddress(pathTo('overview'));
    } catch (error) {
      setProblem(problemOf(error));
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <SignInHead title="Sign in" />
      <form
        class="sign-in-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isBusy) void submit();
        }}
      >
        <TextField
          label="E-mail"
          type="email"
          name="email"
          autocomplete="username"
          value={email}
          onInput={setEmail}
          isRequired
          hasFocus
        />
        <TextField
          label="Password"
          type="password"
          name="password"
          autocomplete="current-password"
          value={password}
          onInput={setPassword}
          isRequired
        />
        {problem && (
          <Notice tone="bad">
            <p>{reasonOf(problem)}</p>
          </Notice>
        )}
        <Button type="submit" tone="accent" isBusy={isBusy}>
          Sign in
        </Button>
      </form>
      <p class="sign-in-foot">
        First time here? The owner’s e-mail and password were printed in the terminal at the very
        first start. An operator sets a new password with{' '}
        <code>quietzone users reset-password</code>.
      </p>
    </main>
  );
}

function reasonOf(problem: Problem): string {
  if (problem.status === 401) return 'Wrong e-mail or password.';
  return problem.message;
}
