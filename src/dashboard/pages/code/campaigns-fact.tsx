/** The campaigns of a code, and a dialog to change them. */
import { useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { invalidate, storeAnswer } from '../../client/resource.ts';
import { may } from '../../client/session.ts';
import { useForm } from '../../client/use-form.ts';
import type { QrCode } from '../../client/wire.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { CheckField } from '../../parts/field.tsx';
import { DialogForm } from '../../parts/form.tsx';
import { Fact } from '../../parts/list.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Ready, Skeleton } from '../../parts/page.tsx';
import { say } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';
import { type Campaign, scheduleText } from '../campaigns/campaign-labels.ts';
import { useOpenCampaigns } from '../campaigns/open-campaigns.ts';

export function CampaignsFact({ code }: { readonly code: QrCode }) {
  const [isOpen, setOpen] = useState(false);
  const { campaigns } = code;
  const mayChange = may('editor') && code.dynamic;
  if (campaigns.length === 0 && !mayChange) return null;
  return (
    <Fact label="Campaigns">
      {campaigns.map(({ id, name }, at) => (
        <span key={id}>
          {at > 0 && ', '}
          <a href={pathTo('campaign', { id })}>
            <bdi>{name}</bdi>
          </a>
        </span>
      ))}
      {mayChange && (
        <p>
          <Button size="small" icon="calendar" onClick={() => setOpen(true)}>
            {campaigns.length === 0 ? 'Add to a campaign' : 'Change campaigns'}
          </Button>
        </p>
      )}
      {isOpen && <Choose code={code} onClose={() => setOpen(false)} />}
    </Fact>
  );
}

interface ChooseProps {
  readonly code: QrCode;
  readonly onClose: () => void;
}

function Choose({ code, onClose }: ChooseProps) {
  const open = useOpenCampaigns();
  return (
    <Dialog title="Campaigns of this code" onClose={onClose}>
      <Ready of={open} skeleton={<Skeleton lines={4} />}>
        {(campaigns) =>
          campaigns.length === 0 ? (
            <Empty icon="calendar" title="No running or scheduled campaigns">
              <p>Codes of an ended campaign cannot change.</p>
              <ButtonLink href={pathTo('newCampaign')}>New campaign</ButtonLink>
            </Empty>
          ) : (
            <Choices code={code} open={campaigns} onClose={onClose} />
          )
        }
      </Ready>
    </Dialog>
  );
}

function Choices({ code, open, onClose }: ChooseProps & { readonly open: readonly Campaign[] }) {
  const before = new Set(code.campaigns.map(({ id }) => id));
  const [chosen, setChosen] = useState<ReadonlySet<string>>(before);
  const form = useForm({});
  const save = async (): Promise<void> => {
    const path = `/qr-codes/${code.id}`;
    storeAnswer(path, await call<QrCode>('PATCH', path, { body: { campaignIds: [...chosen] } }));
    invalidate('/campaigns', '/qr-codes', '/events');
    say('Campaigns changed.');
    onClose();
  };
  const isChanged = chosen.size !== before.size || [...chosen].some((id) => !before.has(id));
  const submit = { form, action: 'Save changes', disabled: !isChanged, onSubmit: save, onClose };
  return (
    <DialogForm {...submit}>
      <div class="pick-list" tabIndex={0} role="group" aria-label="Campaigns to choose from">
        {open.map((campaign) => (
          <CheckField
            key={campaign.id}
            label={<bdi>{campaign.name}</bdi>}
            hint={scheduleText(campaign)}
            checked={chosen.has(campaign.id)}
            onChange={(isChosen) => {
              const next = new Set(chosen);
              if (isChosen) next.add(campaign.id);
              else next.delete(campaign.id);
              setChosen(next);
            }}
          />
        ))}
      </div>
    </DialogForm>
  );
}
