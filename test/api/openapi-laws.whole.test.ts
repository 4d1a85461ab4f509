/**
 * What the OpenAPI document owes its readers. Each finding says what to add, and where: metadata stands beside
 * the zod schema that it is about.
 */
import { expect, test } from 'vitest';
import { type Json, word } from '../support/client.ts';
import { useTestApi } from '../support/test-client.ts';

const { client, makeCode } = await useTestApi();

const document = (await client.get('/v1/openapi.json')).json;

/** What a reference names, or the part itself. */
function resolved(part: Json): Json {
  if (part.$ref === undefined) return part;
  const steps = word(part.$ref).split('/').slice(1);
  return steps.reduce((found, step) => found[step] ?? {}, document);
}

interface Place {
  /** `QrCodeCreate.design.logo`, `GET /qr-codes ?page`. */
  readonly name: string;
  readonly part: Json;
}

/** With the requests that endpoints get, by the event's name. */
function operations(): Place[] {
  const items = { ...document.paths, ...document.webhooks };
  return Object.entries(items).flatMap(([path, item]) =>
    Object.entries(item).map(([method, part]) => ({
      name: `${method.toUpperCase()} ${path}`,
      part,
    })),
  );
}

/** The fields of a schema, and those of the schemas that stand in it; references are places of their own. */
function fieldsIn(name: string, schema: Json): Place[] {
  const own = Object.entries(schema.properties ?? {}).map(([field, part]) => ({
    name: `${name}.${field}`,
    part,
  }));
  const alternatives = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) =>
    Object.values(list ?? {}).map((part) => ({ name, part })),
  );
  const items = [schema.items, schema.additionalProperties].flatMap((part) =>
    typeof part === 'object' ? [{ name: `${name}[]`, part }] : [],
  );
  const inner = [...own, ...alternatives, ...items];
  return [...own, ...inner.flatMap((place) => fieldsIn(place.name, place.part))];
}

/** Every schema: components, and those that stand in operations. */
function schemas(): Place[] {
  const components = Object.entries(document.components?.schemas ?? {});
  const inOperations = operations().flatMap(({ name, part }) => {
    const answers = Object.values(part.responses ?? {}).map(resolved);
    const bodies = [part.requestBody ?? {}, ...answers];
    return bodies.flatMap(({ content }) =>
      Object.values(content ?? {}).map(({ schema = {} }) => ({ name, part: schema })),
    );
  });
  return [...components.map(([name, part]) => ({ name, part })), ...inOperations];
}

/** Findings, each once. */
function listed(findings: readonly string[]): string {
  return [...new Set(findings)].join('\n');
}

test('every field of every body and answer is described', () => {
  const fields = schemas().flatMap(({ name, part }) => fieldsIn(name, part));
  expect(fields.length).toBeGreaterThan(400);
  const bare = fields.filter(
    ({ part }) => part.description === undefined && resolved(part).description === undefined,
  );
  const findings = bare.map(
    ({ name }) => `${name}: add .meta({ description: '…' }) to the field in its zod schema`,
  );
  expect(listed(findings)).toBe('');
});

test('what any operation may answer, and what one with a body may, is there by status', () => {
  const findings = operations().flatMap(({ name, part }) => {
    // What endpoints answer to the service has other statuses.
    if (part.responses?.['2XX'] !== undefined) return [];
    const statuses = [
      401,
      429,
      503,
      ...(part.requestBody === undefined ? [] : [400, 408, 413, 415]),
    ];
    const missing = statuses.filter((status) => part.responses?.[status] === undefined);
    return missing.map((status) => `${name}: ${status} is not described`);
  });
  expect(listed(findings)).toBe('');
});

test('every parameter and every header of an answer is described', () => {
  const findings = operations().flatMap(({ name, part }) => {
    const parameters = Object.values(part.parameters ?? {}).map(resolved);
    const answers = Object.values(part.responses ?? {}).map(resolved);
    const headers = answers.flatMap((answer) =>
      Object.entries(answer.headers ?? {}).map(([key, header]) => ({
        name: key,
        description: resolved(header).description,
      })),
    );
    return [...parameters, ...headers]
      .filter(({ description }) => description === undefined)
      .map((found) => `${name}, ${word(found.name)}: add .meta({ description: '…' }) to it`);
  });
  expect(listed(findings)).toBe('');
});

interface Media {
  /** `POST /qr-codes body`. */
  readonly name: string;
  readonly type: string;
  readonly media: Json;
}

function mediaOf(name: string, { content = {} }: Json): Media[] {
  return Object.entries(content).map(([type, media]) => ({ name, type, media }));
}

/** Bodies, answers and refusals of every operation; pictures and archives have no schema. */
function everyMedia(): Media[] {
  const found = operations().flatMap(({ name, part }) => [
    ...mediaOf(`${name} body`, part.requestBody ?? {}),
    ...Object.entries(part.responses ?? {}).flatMap(([status, answer]) =>
      mediaOf(`${name} ${status}`, resolved(answer)),
    ),
  ]);
  return found.filter(({ media }) => media.schema !== undefined);
}

function examplesOf({ media }: Media): unknown[] {
  const named = Object.values(media.examples ?? {}).map((example) => resolved(example).value);
  return media.example === undefined ? named : [media.example, ...named];
}

test('every body and every answer has an example', () => {
  const findings = everyMedia()
    .filter((found) => examplesOf(found).length === 0)
    .map(({ name, type }) => `${name}, ${type}: add it to the route’s \`samples\``);
  expect(listed(findings)).toBe('');
});

/** Things that do not exist here are no fault of a body. */
const missing = new Set(['not_found', 'unknown_code']);

/** What is wrong with the example, by the judgement of the service; undefined when nothing is. */
async function refusalOf({ name }: Place, media: Json): Promise<string | undefined> {
  const [method = '', path = ''] = name.split(' ');
  const [body] = examplesOf({ name, type: '', media });
  const address = `/v1${path.replace(/\{\w+\}/, 'qr_00000000000000000000')}`;
  const { status, faults, text } = await client.call(method, address, { body });
  const isRead = status !== 400 && status !== 415 && status < 500;
  return isRead && faults.every(({ code = '' }) => missing.has(code)) ? undefined : text;
}

test('the service takes the example of every body', async () => {
  const findings: string[] = [];
  let taken = 0;
  for (const place of operations().filter(({ name }) => name.includes(' /'))) {
    const { requestBody, security = {} } = place.part;
    const media = requestBody?.content?.['application/json'];
    const needsPerson = JSON.stringify(security).startsWith('[{"session"');
    if (media === undefined || needsPerson) continue;
    const refusal = await refusalOf(place, media);
    if (refusal === undefined) taken += 1;
    else findings.push(`${place.name}: give its body another example: ${refusal}`);
  }
  expect(listed(findings)).toBe('');
  expect(taken).toBeGreaterThan(30);
});

/** Values right beyond the bounds of a field, and one of another kind. */
function wrongValues(schema: Json): unknown[] {
  const { type, maxLength, minLength, maximum, minimum, maxItems } = schema;
  const kinds = JSON.stringify(type ?? '');
  return [
    ...(maxLength === undefined ? [] : ['a'.repeat(Number(maxLength) + 1)]),
    ...(minLength === undefined ? [] : ['a'.repeat(Number(minLength) - 1)]),
    ...(maximum === undefined ? [] : [Number(maximum) + 1]),
    ...(minimum === undefined ? [] : [Number(minimum) - 1]),
    ...(maxItems === undefined ? [] : [Array.from({ length: Number(maxItems) + 1 }, () => 'a')]),
    ...(schema.enum === undefined ? [] : ['nonsense']),
    ...(kinds.includes('integer') ? [1.5] : []),
    ...(kinds.includes('boolean') ? ['yes'] : [true]),
  ];
}

/** Texts of another form. */
const wrongForms = ({ format, pattern }: Json): string[] => [
  ...(pattern === undefined ? [] : ['\u0000']),
  ...(word(format ?? '').startsWith('date')
    ? ['2026-02-30', '2026-2-3', '2040-01-01T00:00:00']
    : []),
];

/** Values right at the bounds, whatever else is wrong with them. */
function boundValues({ maxLength, minLength, maximum, minimum }: Json): unknown[] {
  const lengths = [maxLength, minLength].flatMap((bound) => (bound === undefined ? [] : [bound]));
  const numbers = [maximum, minimum].flatMap((bound) => (bound === undefined ? [] : [bound]));
  return [...lengths.map((length) => 'a'.repeat(Number(length))), ...numbers.map(Number)];
}

/** Of the fields of every body that a key may send; Stripe’s is read by its signature. */
function bodyFields(): Array<Place & { readonly schema: Json; readonly example: object }> {
  return operations().flatMap(({ name, part }) => {
    const media = part.requestBody?.content?.['application/json'];
    const takesKey = name.includes(' /') && !JSON.stringify(part.security ?? {}).startsWith('[{"s');
    if (media === undefined || !takesKey || name.endsWith('/stripe/webhook')) return [];
    const [example] = examplesOf({ name, type: '', media });
    const fields = Object.entries(resolved(media.schema ?? {}).properties ?? {});
    return fields.map(([field, schema]) => ({
      name: `${name} ${field}`,
      part,
      schema: resolved(schema),
      example: typeof example === 'object' && example !== null ? example : {},
    }));
  });
}

/** Codes of the faults of a body, at a field and below it. */
async function faultsAt(name: string, field: string, body: unknown): Promise<string[]> {
  const [method = '', path = ''] = name.split(' ');
  const address = `/v1${path.replace(/\{\w+\}/, 'qr_00000000000000000000')}`;
  const { faults } = await client.call(method, address, { body });
  return faults.flatMap((fault) => (fault.path?.startsWith(field) ? [fault.code ?? ''] : []));
}

test('the service has the bounds that the document gives', async () => {
  const findings: string[] = [];
  let tried = 0;
  for (const { name, schema, example } of bodyFields()) {
    const [, , field = ''] = name.split(' ');
    const codesOf = async (value: unknown): Promise<string[]> => {
      tried += 1;
      return await faultsAt(name, field, { ...example, [field]: value });
    };
    // A replacement takes what GET gave, and reads nothing of what cannot change.
    const forms = name.startsWith('PUT') ? [] : wrongForms(schema);
    for (const value of [...wrongValues(schema), ...forms]) {
      if ((await codesOf(value)).length > 0) continue;
      findings.push(`${name}: ${JSON.stringify(value).slice(0, 40)} is not refused`);
    }
    for (const value of boundValues(schema)) {
      const isBound = (await codesOf(value)).some((code) => /^too_(big|small)$/.test(code));
      if (isBound) findings.push(`${name}: ${JSON.stringify(value).slice(0, 40)} is refused`);
    }
  }
  expect(listed(findings)).toBe('');
  expect(tried).toBeGreaterThan(100);
});

test('a field that a body needs is missed by its name, and one that it has not is refused', async () => {
  const findings: string[] = [];
  const bodies = new Set<string>();
  let tried = 0;
  for (const { name, part, example } of bodyFields()) {
    const [method = '', path = '', field = ''] = name.split(' ');
    if (!bodies.has(`${method} ${path}`)) {
      bodies.add(`${method} ${path}`);
      const unknown = await faultsAt(name, 'nothing', { ...example, nothing: 1 });
      if (String(unknown) !== 'unknown_field') findings.push(`${method} ${path}: takes any field`);
    }
    const schema = resolved(part.requestBody?.content?.['application/json']?.schema ?? {});
    if (!Object.values(schema.required ?? {}).some((one) => word(one) === field)) continue;
    tried += 1;
    const missed = await faultsAt(name, field, { ...example, [field]: undefined });
    if (missed.length === 0) findings.push(`${name}: is not required`);
  }
  expect(listed(findings)).toBe('');
  expect([bodies.size, tried].map((count) => count > 15)).toEqual([true, true]);
});

/** Values that a parameter of a query does not take. */
function wrongWords({ type, format, pattern, maxLength, minLength, ...schema }: Json): string[] {
  const { minimum = 0, maximum = 0 } = schema;
  const ofType: Readonly<Record<string, readonly string[]>> = {
    integer: ['x', '', '1e1', `${Number(minimum) - 1}`, `${Number(maximum) + 1}`],
    boolean: ['1', ''],
  };
  const ofFormat: Readonly<Record<string, readonly string[]>> = {
    date: ['2026-02-30', '2026-1-1', 'yesterday'],
    'date-time': ['noon'],
  };
  return [
    ...(ofType[word(type)] ?? []),
    ...(ofFormat[word(format ?? '')] ?? []),
    ...(pattern === undefined ? [] : ['\u0000']),
    ...(schema.enum === undefined ? [] : ['nonsense']),
    // A longer address is refused as such.
    ...(Number(maxLength) < 2_000 ? ['a'.repeat(Number(maxLength) + 1)] : []),
    ...(minLength === undefined ? [] : ['']),
  ];
}

test('a query is refused by the name of the parameter that is wrong, or there twice', async () => {
  const made = async (path: string, body: object): Promise<string> =>
    word((await client.post(path, body)).json.id);
  const webhook = { url: 'https://hooks.example/', events: ['*'] };
  const ids: ReadonlyArray<readonly [start: string, id: string]> = [
    ['/qr-codes', word((await makeCode()).id)],
    [
      '/campaigns',
      await made('/v1/campaigns', { name: 'n', startDate: '2026-03-01', qrCodeIds: [] }),
    ],
    ['/webhooks', await made('/v1/webhooks', webhook)],
  ];
  const findings: string[] = [];
  let tried = 0;
  for (const { name, part } of operations()) {
    const [method = '', path = ''] = name.split(' ');
    const [, id = ''] = ids.find(([start]) => path.startsWith(start)) ?? [];
    for (const parameter of Object.values(part.parameters ?? {}).map(resolved)) {
      if (word(parameter.in) !== 'query') continue;
      const field = word(parameter.name);
      const values = wrongWords(resolved(parameter.schema ?? {})).map(encodeURIComponent);
      for (const value of [...values, `1&${field}=1`]) {
        tried += 1;
        const address = `/v1${path.replace(/\{\w+\}/, id)}?${field}=${value}`;
        const { status, faults } = await client.call(method, address);
        const isNamed = faults.some((fault) => fault.path === field);
        if (status !== 422 || !isNamed) findings.push(`${name} ?${field}=${value}: ${status}`);
      }
    }
  }
  expect(listed(findings)).toBe('');
  expect(tried).toBeGreaterThan(500);
});
