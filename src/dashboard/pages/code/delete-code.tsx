/** Deletes a code. Its prints stop working for ever, so the user must type its name. */
import { call } from '../../client/http.ts';
import { invalidate } from '../../client/resource.ts';
import { navigate } from '../../client/router.ts';
import type { QrCode } from '../../client/wire.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { say } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';

interface DeleteProps {
  readonly code: QrCode;
  readonly onClose: () => void;
}

export function DeleteCode({ code, onClose }: DeleteProps) {
  const remove = async (): Promise<void> => {
    await call('DELETE', `/qr-codes/${code.id}`);
    say('Code deleted.');
    navigate(pathTo('codes'));
    invalidate('/qr-codes?', '/analytics', '/campaigns');
  };
  return (
    <Confirm
      title="Delete this code permanently?"
      action="Delete permanently"
      typed={code.slug ?? 'delete'}
      onConfirm={remove}
      onClose={onClose}
    >
      {code.dynamic ? (
        <p>
          Anyone who scans a print of it will find nothing. The short code is never given out again,
          so this cannot be undone, not even by creating the code again. Its analytics stay readable
          through the API for 90 days.
        </p>
      ) : (
        <p>It disappears from your list. Prints of a static code keep working on their own.</p>
      )}
    </Confirm>
  );
}
