/** The keyboard shortcuts, in a dialog. */
import { isHelpOpen, shortcuts } from '../client/shortcuts.ts';
import { Dialog } from '../parts/dialog.tsx';

export function HelpDialog() {
  if (!isHelpOpen.value) return null;
  const close = (): void => {
    isHelpOpen.value = false;
  };
  return (
    <Dialog title="Keyboard shortcuts" clickBeside="closes" onClose={close}>
      <dl class="facts">
        {shortcuts.map(({ keys, what }) => (
          <div key={keys} class="fact">
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
