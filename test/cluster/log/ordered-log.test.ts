import { MemoryLog } from './memory-log.ts';
import { MemoryStream } from './memory-stream.ts';
import { orderedLogContract } from './ordered-log-contract.ts';

orderedLogContract({
  name: 'memory',
  open: () => {
    const stream = new MemoryStream();
    return Promise.resolve(() => new MemoryLog({ stream }));
  },
});
