/** The workspace's name, its days and weeks, the user's other workspaces, and a form for a new one. */
import { capitalize, formatUtcDay } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, useResource } from '../../client/resource.ts';
import { navigate } from '../../client/router.ts';
import { currentSession, may, noteWorkspace, switchWorkspace } from '../../client/session.ts';
import { useForm } from '../../client/use-form.ts';
import type { Page as PageOf, Workspace } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { TextField } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { Badge, Fact } from '../../parts/list.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { say, sayProblem } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';
import { GeoWarning } from '../code/analytics-part.tsx';
import { DaysCard } from './days-card.tsx';

export function WorkspacePage() {
  return (
    <Page title="Workspace" lead="Codes, people, keys and limits belong to a workspace.">
      <div class="page-narrow stack">
        <GeoWarning />
        <NameCard />
        <DaysCard />
        <AllCard />
        <NewCard />
      </div>
    </Page>
  );
}

function NameCard() {
  const { workspace, geoDate } = currentSession();
  const form = useForm({ name: workspace.name });
  const name = form.texts.name.trim();
  const rename = async (): Promise<void> => {
    const body = { name };
    const changed = await call<Workspace>('PATCH', `/workspaces/${workspace.id}`, { body });
    noteWorkspace({ name: changed.name });
    invalidate('/workspaces');
    say('Workspace renamed.');
  };
  return (
    <Card title="This workspace">
      <Form
        form={form}
        action={may('admin') && 'Save changes'}
        disabled={name === '' || name === workspace.name}
        onSubmit={rename}
      >
        <TextField
          label="Name"
          {...form.field('name')}
          lengthMax={120}
          isReadOnly={!may('admin')}
        />
        <dl class="facts">
          <Fact label="ID">
            <span class="code-address">
              <code>{workspace.id}</code>
              <CopyButton text={workspace.id} label="Copy the ID" />
            </span>
          </Fact>
          <Fact label="Plan">{capitalize(workspace.plan)}</Fact>
          <Fact label="Your role">{capitalize(workspace.role)}</Fact>
          <Fact label="Created">
            <Time iso={workspace.createdAt} style="full" />
          </Fact>
          {geoDate && <Fact label="Countries and cities">Data of {formatUtcDay(geoDate)}</Fact>}
        </dl>
      </Form>
    </Card>
  );
}

function AllCard() {
  const all = useResource<PageOf<Workspace>>('/workspaces?limit=100');
  const here = currentSession().workspace.id;
  const goTo = (id: string): void => {
    switchWorkspace(id).then(() => navigate(pathTo('overview')), sayProblem);
  };
  return (
    <Card class="card-flush" title="Your workspaces">
      <Ready of={all} skeleton={<Skeleton height={90} />}>
        {({ data }) => (
          <table class="table">
            <caption class="unseen">Your workspaces</caption>
            <tbody>
              {data.map(({ id, name, plan, role }) => (
                <tr key={id}>
                  <td>
                    <span class="row-title">{name}</span>
                    <span class="row-sub">
                      {capitalize(plan)} · {role}
                    </span>
                  </td>
                  <td class="tight">
                    {id === here ? (
                      <Badge tone="accent">Current</Badge>
                    ) : (
                      <Button size="small" onClick={() => goTo(id)}>
                        Switch
                      </Button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Ready>
    </Card>
  );
}

function NewCard() {
  const form = useForm({ name: '' });
  const name = form.texts.name.trim();
  const create = async (): Promise<void> => {
    const made = await call<Workspace>('POST', '/workspaces', { body: { name } });
    say(`${made.name} created.`);
    await switchWorkspace(made.id);
    navigate(pathTo('overview'));
  };
  return (
    <Card title="New workspace" lead="Starts on the Free plan. You will be its owner.">
      <Form
        form={form}
        action="Create workspace"
        tone="plain"
        disabled={name === ''}
        onSubmit={create}
      >
        <TextField label="Workspace name" {...form.field('name')} lengthMax={120} />
      </Form>
    </Card>
  );
}
