/** The keyboard shortcuts, in a dialog. */
import { areShortcutsOn, firstKey, isHelpOpen, shortcuts } from '../client/shortcuts.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Fact } from '../parts/list.tsx';
import { pathTo } from '../paths.ts';

export function HelpDialog() {
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
