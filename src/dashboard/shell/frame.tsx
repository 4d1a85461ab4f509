/** The frame around every page: navigation, workspace menu, account menu, the notice of a local address. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { shortAddress } from '../client/format.ts';
import { currentPath } from '../client/router.ts';
import { currentSession, may, seesCluster, sessionState, signOut } from '../client/session.ts';
import { isHelpOpen } from '../client/shortcuts.ts';
import { chooseTheme, type Theme, theme } from '../client/theme.ts';
import { Button } from '../parts/button.tsx';
import { CopyLine } from '../parts/copy.tsx';
import { Icon, type IconName, Logo } from '../parts/icon.tsx';
import { Menu, MenuItem } from '../parts/menu.tsx';
import { sayProblem } from '../parts/toast.tsx';
import { type PathName, pathTo } from '../paths.ts';
import { WorkspaceMenu } from './workspace-menu.tsx';

interface Place {
  readonly name: PathName;
  readonly label: string;
  readonly icon: IconName;
}

const places: readonly Place[] = [
  { name: 'overview', label: 'Overview', icon: 'home' },
  { name: 'analytics', label: 'Analytics', icon: 'chart' },
  { name: 'codes', label: 'Codes', icon: 'code' },
  { name: 'campaigns', label: 'Campaigns', icon: 'calendar' },
  { name: 'team', label: 'Team', icon: 'team' },
  { name: 'billing', label: 'Billing', icon: 'card' },
];

interface SettingsPlace extends Place {
  readonly least?: 'admin';
  /** Only if the user may see a cluster. */
  readonly isOfCluster?: true;
}

const settings: readonly SettingsPlace[] = [
  { name: 'profile', label: 'Profile', icon: 'person' },
  { name: 'workspace', label: 'Workspace', icon: 'building' },
  { name: 'pages', label: 'Pages', icon: 'book', least: 'admin' },
  { name: 'apiKeys', label: 'API keys', icon: 'key', least: 'admin' },
  { name: 'alerts', label: 'Alerts', icon: 'warning' },
  { name: 'webhooks', label: 'Webhooks', icon: 'hook', least: 'admin' },
  { name: 'retention', label: 'Data', icon: 'database' },
  { name: 'cluster', label: 'Cluster', icon: 'servers', isOfCluster: true },
];

function isShown({ least, isOfCluster }: SettingsPlace): boolean {
  if (isOfCluster === true && !seesCluster()) return false;
  return least === undefined || may(least);
}

export function Frame({ children }: { readonly children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  const path = currentPath.value;
  useEffect(() => setOpen(false), [path]);
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <aside class="side">
        <Navigation path={path} />
      </aside>
      <header class="top">
        <Button tone="quiet" icon="menu" label="Menu" onClick={() => setOpen(true)} />
        <a class="brand" href={pathTo('overview')}>
          <Logo size={24} />
          Quietzone
        </a>
        {isSignedIn() && <AccountMenu />}
      </header>
      {isOpen && <Drawer path={path} onClose={() => setOpen(false)} />}
      <main class="content" id="content" tabIndex={-1}>
        {isSignedIn() && <LocalNotice />}
        {children}
      </main>
    </div>
  );
}

/** The navigation of a narrow screen. */
function Drawer({ path, onClose }: { readonly path: string; readonly onClose: () => void }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog
      ref={element}
      class="drawer"
      aria-label="Menu"
      onCancel={onClose}
      onClick={(event) => {
        const isLink = event.target instanceof Element && event.target.closest('a') !== null;
        if (isLink || event.target === element.current) onClose();
      }}
    >
      <div class="drawer-body">
        <Navigation path={path} />
      </div>
    </dialog>
  );
}

function Navigation({ path }: { readonly path: string }) {
  return (
    <>
      <a class="brand" href={pathTo('overview')}>
        <Logo size={26} />
        Quietzone
      </a>
      {isSignedIn() && <WorkspaceMenu />}
      <nav class="nav" aria-label="Main">
        <ul>
          {places.map((place) => (
            <NavigationLink key={place.name} place={place} path={path} />
          ))}
        </ul>
        <h2 class="nav-head">Settings</h2>
        <ul>
          {settings.filter(isShown).map((place) => (
            <NavigationLink key={place.name} place={place} path={path} />
          ))}
        </ul>
      </nav>
      <div class="side-foot">
        <a class="nav-link" href="/docs" target="_blank" rel="noreferrer">
          <Icon name="book" />
          API reference
        </a>
        <button type="button" class="nav-link" onClick={() => void (isHelpOpen.value = true)}>
          <Icon name="help" />
          Shortcuts
        </button>
        {isSignedIn() && <AccountMenu />}
      </div>
    </>
  );
}

/** False while a limit delays the session. */
const isSignedIn = (): boolean => sessionState.value.kind === 'in';

/** The navigation entry of the page at the path, or of its parent page. */
export function placeAt(path: string): Place | undefined {
  return [...places, ...settings].find((place) => isWithin(place, path));
}

function isWithin({ name }: Place, path: string): boolean {
  const address = pathTo(name);
  return address === '/' ? path === '/' : path === address || path.startsWith(`${address}/`);
}

function NavigationLink({ place, path }: { readonly place: Place; readonly path: string }) {
  const address = pathTo(place.name);
  const isHere = isWithin(place, path);
  return (
    <li>
      <a class="nav-link" href={address} {...(isHere ? { 'aria-current': 'page' as const } : {})}>
        <Icon name={place.icon} />
        {place.label}
      </a>
    </li>
  );
}

const themes: ReadonlyArray<{ value: Theme; label: string; icon: IconName }> = [
  { value: 'system', label: 'System theme', icon: 'screen' },
  { value: 'light', label: 'Light theme', icon: 'sun' },
  { value: 'dark', label: 'Dark theme', icon: 'moon' },
];

/** The menu of the signed-in user: profile, theme, sign-out. */
function AccountMenu() {
  const { user } = currentSession();
  const initial = (user.name || user.email).charAt(0).toUpperCase();
  const button = (
    <>
      <span class="avatar" aria-hidden="true">
        {initial}
      </span>
      <span class="unseen">Account of {user.name}</span>
      <span class="account-name">
        <b>{user.name}</b>
        <span>{user.email}</span>
      </span>
      <Icon name="down" size={16} />
    </>
  );
  return (
    <Menu button={button} buttonClass="account">
      <MenuItem icon="person" href={pathTo('profile')}>
        Profile and password
      </MenuItem>
      <div class="menu-line" />
      {themes.map(({ value, label, icon }) => (
        <MenuItem
          key={value}
          icon={icon}
          isCurrent={theme.value === value}
          onClick={() => chooseTheme(value)}
        >
          {label}
        </MenuItem>
      ))}
      <div class="menu-line" />
      <MenuItem icon="leave" onClick={() => void signOut().catch(sayProblem)}>
        Sign out
      </MenuItem>
    </Menu>
  );
}

/** An example: only the operator knows the real address. */
const sampleHost = '192.168.1.20';
const localHosts = /^(localhost|.*\.localhost|127\..*|\[::1\]|0\.0\.0\.0)$/;

/** Phones can use the address that this page was opened at, unless it is a local one. */
function suggestion(base: string): string {
  const url = new URL(base);
  url.hostname = localHosts.test(location.hostname) ? sampleHost : location.hostname;
  return url.href.replace(/\/$/, '');
}

/**
 * Shown while short links begin with `localhost`: phones cannot open the codes, and a print cannot change its address.
 * On every page, one line until opened.
 */
function LocalNotice() {
  const { base, local } = currentSession().shortLinks;
  if (!local) return null;
  return (
    <details class="local-notice">
      <summary>
        <Icon name="warning" size={16} />
        <span>
          Phones cannot open codes at <b>{shortAddress(base)}</b>.{' '}
          <span class="local-more">What to do</span>
        </span>
      </summary>
      <div class="prose">
        <p>
          On a phone, that address is the phone itself. Before you print, the operator must set an
          address in your network or on the web with this setting and start the service again:
        </p>
        <CopyLine text={`QZ_SHORT_URL_BASE=${suggestion(base)}`} label="the address setting" />
        <p>
          New images use the new address; printed codes keep the old one. The service’s terminal
          shows the addresses of its machine.
        </p>
      </div>
    </details>
  );
}
