/** The current workspace, and a switch to the others, which are loaded when the menu opens. */
import { useState } from 'preact/hooks';
import { capitalize } from '../client/format.ts';
import { useResource } from '../client/resource.ts';
import { navigate } from '../client/router.ts';
import { currentSession, switchWorkspace } from '../client/session.ts';
import type { Page, Workspace } from '../client/wire.ts';
import { Icon } from '../parts/icon.tsx';
import { Menu, MenuItem } from '../parts/menu.tsx';
import { sayProblem } from '../parts/toast.tsx';
import { pathTo } from '../paths.ts';

export function WorkspaceMenu() {
  const { workspace } = currentSession();
  const [isWanted, setWanted] = useState(false);
  const button = (
    <>
      <span class="unseen">Workspace</span>
      <span class="workspace-name">
        <b>{workspace.name}</b>
        <span>
          {capitalize(workspace.plan)} · {workspace.role}
        </span>
      </span>
      <Icon name="down" size={16} />
    </>
  );
  return (
    <div
      class="workspace"
      onPointerEnter={() => setWanted(true)}
      onFocusCapture={() => setWanted(true)}
    >
      <Menu button={button} buttonClass="workspace-button" align="start">
        {isWanted && <Others currentId={workspace.id} />}
        <MenuItem icon="settings" href={pathTo('workspace')}>
          Workspace settings
        </MenuItem>
      </Menu>
    </div>
  );
}

function Others({ currentId }: { readonly currentId: string }) {
  const { data } = useResource<Page<Workspace>>('/workspaces?limit=100');
  if (data === undefined || data.data.length < 2) return null;
  return (
    <>
      {data.data.map(({ id, name }) => (
        <MenuItem key={id} isCurrent={id === currentId} onClick={() => void goTo(id, currentId)}>
          {name}
        </MenuItem>
      ))}
      <div class="menu-line" />
    </>
  );
}

async function goTo(id: string, currentId: string): Promise<void> {
  if (id === currentId) return;
  try {
    await switchWorkspace(id);
    navigate(pathTo('overview'));
  } catch (error) {
    sayProblem(error);
  }
}
