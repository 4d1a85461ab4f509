/** The menu of the signed-in user: profile, theme, sign-out. */
import { currentSession, signOut } from '../client/session.ts';
import { chooseTheme, type Theme, theme } from '../client/theme.ts';
import { Icon, type IconName } from '../parts/icon.tsx';
import { Menu, MenuItem } from '../parts/menu.tsx';
import { sayProblem } from '../parts/toast.tsx';
import { pathTo } from '../paths.ts';

const themes: ReadonlyArray<{ value: Theme; label: string; icon: IconName }> = [
  { value: 'system', label: 'System theme', icon: 'screen' },
  { value: 'light', label: 'Light theme', icon: 'sun' },
  { value: 'dark', label: 'Dark theme', icon: 'moon' },
];

export function AccountMenu() {
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
