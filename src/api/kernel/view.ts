/**
 * Makes an answer from a record by its schema. Takes the fields that the schema has and drops all others; `createdAt` comes
 * from `createdAtMs`; a nullable field that the record lacks is null.
 */
import { z } from 'zod';
import { isoTime } from '../../model/day.ts';
import type { time } from './fields.ts';

type Time = z.output<typeof time>;
type NameOf<K, Out> = K extends string ? (NonNullable<Out> extends Time ? `${K}Ms` : K) : never;
type ValueOf<Out, In> =
  NonNullable<Out> extends Time ? number : In extends Array<infer E> ? readonly E[] : In;
type IsRequired<Out> = null extends Out ? false : undefined extends Out ? false : true;

type Required<Out, In> = {
  readonly [
    K in keyof Out & keyof In as IsRequired<Out[K]> extends true ? NameOf<K, Out[K]> : never
  ]: ValueOf<Out[K], In[K]>;
};
type Optional<Out, In> = {
  readonly [
    K in keyof Out & keyof In as IsRequired<Out[K]> extends true ? never : NameOf<K, Out[K]>
  ]?: ValueOf<Out[K], In[K]> | undefined;
};

/** A record that has the fields of an answer. */
export type Viewed<S extends z.ZodObject> = Required<z.output<S>, z.input<S>> &
  Optional<z.output<S>, z.input<S>>;

interface Field {
  readonly name: string;
  readonly from: string;
  readonly isTime: boolean;
  readonly isNullable: boolean;
}

const fieldsOf = new WeakMap<z.ZodObject, readonly Field[]>();

export function view<S extends z.ZodObject>(schema: S, record: Viewed<S>): z.input<S>;
export function view(
  schema: z.ZodObject,
  record: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const fields = fieldsOf.get(schema) ?? Object.entries(schema.shape).map(toField);
  fieldsOf.set(schema, fields);
  const answer: Record<string, unknown> = {};
  for (const { name, from, isTime, isNullable } of fields) {
    const value = record[from];
    if (value === undefined || value === null) {
      if (isNullable) answer[name] = null;
    } else answer[name] = isTime ? isoTime(Number(value)) : value;
  }
  return answer;
}

function toField([name, schema]: [string, z.core.$ZodType]): Field {
  let [inner, isNullable] = [schema, false];
  while (inner instanceof z.ZodNullable || inner instanceof z.ZodOptional) {
    isNullable ||= inner instanceof z.ZodNullable;
    inner = inner.unwrap();
  }
  const { override } = z.globalRegistry.get(inner) ?? {};
  const isTime =
    override instanceof Object && 'format' in override && override.format === 'date-time';
  return { name, from: isTime ? `${name}Ms` : name, isTime, isNullable };
}
