/** A process with nothing to do but to be killed. */
process.on('message', () => undefined);
