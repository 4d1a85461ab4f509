/** Shows the splash, the sign-in page, or the frame with the page at the address. */
import { Component, type ComponentChildren } from 'preact';
import type { Problem } from '../client/problem.ts';
import { currentPath } from '../client/router.ts';
import { loadSession, sessionState } from '../client/session.ts';
import { areShortcutsOn, firstKey, isHelpOpen, shortcuts } from '../client/shortcuts.ts';
import { Button } from '../parts/button.tsx';
import { useRetry } from '../client/use-retry.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Fact } from '../parts/list.tsx';
import { Notice, ProblemNotice } from '../parts/notice.tsx';
import { Page } from '../parts/page.tsx';
import { Toasts } from '../parts/toast.tsx';
import { NotFoundPage } from '../pages/session/not-found-page.tsx';
import { SignInPage } from '../pages/session/sign-in-page.tsx';
import { matchPath, type PathMatch, pathTo } from '../paths.ts';
import { Frame, placeAt } from './frame.tsx';
import { pages } from './pages.ts';

export function App() {
  return (
    <>
      <Screen />
      <Toasts />
      <HelpDialog />
    </>
  );
}

function Screen() {
  const state = sessionState.value;
  const match = matchPath(currentPath.value);
  // An invited person may have no account yet.
  if (match?.name === 'acceptInvite') {
    return (
      <main class="sign-in">
        <CurrentPage match={match} />
      </main>
    );
  }
  switch (state.kind) {
    case 'unknown':
      return <Splash />;
    case 'unreachable':
      return <Unreachable problem={state.problem} />;
    case 'out':
      return <SignInPage />;
    case 'in':
      break;
  }
  return (
    // A page must not keep its state in another workspace.
    <Frame key={state.session.workspace.id}>
      {match === undefined ? <NotFoundPage /> : <CurrentPage match={match} />}
    </Frame>
  );
}

/** If a limit refuses the session, the frame stays and the session is requested again by itself. */
function Unreachable({ problem }: { readonly problem: Problem }) {
  const retry = (): void => void loadSession();
  useRetry(problem, retry);
  const notice = <ProblemNotice problem={problem} onRetry={retry} />;
  if (problem.retryAtMs !== undefined) {
    return (
      <Frame>
        <Page title={placeAt(currentPath.value)?.label ?? 'Quietzone'}>{notice}</Page>
      </Frame>
    );
  }
  return (
    <main class="sign-in">
      <h1 class="unseen">Quietzone</h1>
      {notice}
    </main>
  );
}

function Splash() {
  return (
    <div class="splash" role="status">
      <span class="splash-mark" aria-hidden="true" />
      <span class="splash-text">Loading Quietzone…</span>
    </div>
  );
}

function CurrentPage({ match: { name, params } }: { readonly match: PathMatch }) {
  const Page = pages[name];
  const id = Object.values(params).join('/');
  return (
    <Guarded key={`${name}/${id}`}>
      <Page params={params} />
    </Guarded>
  );
}

interface GuardedState {
  readonly failure: string | undefined;
}

/** A crash of one page leaves the rest of the dashboard usable. */
class Guarded extends Component<{ readonly children: ComponentChildren }, GuardedState> {
  override state: GuardedState = { failure: undefined };

  static override getDerivedStateFromError(error: unknown): GuardedState {
    return { failure: error instanceof Error ? error.message : String(error) };
  }

  override render() {
    const { failure } = this.state;
    if (failure === undefined) return this.props.children;
    return (
      <Notice tone="bad" title="This page has crashed">
        <p>This is a bug in the dashboard: {failure}. Your data is safe.</p>
        <Button icon="refresh" onClick={() => location.reload()}>
          Reload
        </Button>
      </Notice>
    );
  }
}

/** The keyboard shortcuts, in a dialog. */
function HelpDialog() {
  if (!isHelpOpen.value) return null;
  const close = (): void => {
    isHelpOpen.value = false;
  };
  return (
    <Dialog title="Keyboard shortcuts" clickBeside="closes" onClose={close}>
      <p>
        {areShortcutsOn.value ? 'Turn them off in your ' : 'They are off. Turn them on in your '}
        <a href={pathTo('profile')} onClick={close}>
          profile
        </a>
        .
      </p>
      <dl class="facts">
        {Object.entries(shortcuts).map(([key, { what }]) => (
          <Fact key={key} label={<kbd>{`${firstKey} then ${key}`}</kbd>}>
            {what}
          </Fact>
        ))}
        <Fact label={<kbd>Esc</kbd>}>Close a dialog or a menu</Fact>
      </dl>
    </Dialog>
  );
}
