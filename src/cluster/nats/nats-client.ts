/**
 * What is used of the NATS client. nats-connection.ts loads this file when it dials: a service without a cluster never
 * reads the packages. They are CommonJS, and the bundle of the one file gives such a package no names where `import()`
 * has it (config/release/bundle.ts refuses that): so this file is between.
 */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, credsAuthenticator, headers } from '@nats-io/transport-node';

export const natsClient = { connect, credsAuthenticator, headers, jetstream, jetstreamManager };
