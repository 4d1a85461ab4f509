import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { assertFloor, floors, readNeeds, withoutSymbols } from '../../config/release/elf.ts';

const modules = join(import.meta.dirname, '../../node_modules');
const target = `linux-${process.arch}`;

/** Read once: Node has more than a hundred megabytes. */
const files = new Map<string, Buffer>();
afterAll(() => files.clear());

/** The file under node_modules that a pattern names: versions stand in some names. Not to be changed. */
function read(pattern: string): Buffer {
  const known = files.get(pattern);
  if (known !== undefined) return known;
  const [path] = globSync(pattern, { cwd: modules });
  if (path === undefined) throw new Error(`Cannot read ${pattern}: no such file`);
  const bytes = readFileSync(join(modules, path));
  files.set(pattern, bytes);
  return bytes;
}

const node = `node-${target}/bin/node`;
const lmdb = `@lmdb/lmdb-${target}/node.abi127.glibc.node`;
const sharp = `@img/sharp-${target}/lib/sharp-${target}-*.node`;
const libvips = `@img/sharp-libvips-${target}/lib/libvips-cpp.so.*`;
const uws = `uWebSockets.js/dist/bin/uws_linux_*64_127.node`;

describe('readNeeds', () => {
  it.each([
    [node, '2.28', '3.4.21'],
    [lmdb, '2.34', '3.4.29'],
    [sharp, '2.17', '3.4.21'],
    [libvips, '2.28', '3.4.22'],
    ['uWebSockets.js/dist/bin/uws_linux_x64_127.node', '2.27', undefined],
    ['uWebSockets.js/dist/bin/uws_linux_arm64_127.node', '2.27', undefined],
  ])('reads the versions that %s requires', (pattern, glibc, glibcxx) => {
    const required = [...readNeeds(pattern, read(pattern)).versions.values()].flat();
    expect(required).toContain(`GLIBC_${glibc}`);
    if (glibcxx === undefined) expect(required.join()).not.toContain('GLIBCXX');
    else expect(required).toContain(`GLIBCXX_${glibcxx}`);
  });

  it('reads machine, libraries and the versions of each', () => {
    const pattern = 'uWebSockets.js/dist/bin/uws_linux_arm64_127.node';
    const { machine, libraries, versions } = readNeeds(pattern, read(pattern));
    expect(machine).toBe('arm64');
    expect(libraries).toEqual([
      'libm.so.6',
      'libpthread.so.0',
      'libc.so.6',
      'ld-linux-aarch64.so.1',
    ]);
    expect(versions.get('libm.so.6')).toEqual(['GLIBC_2.27', 'GLIBC_2.17']);
  });

  const whole = read(lmdb);
  it.each([
    ['nothing', Buffer.alloc(0), 'it is no ELF file'],
    ['a script', Buffer.from('#!/bin/sh\n'.repeat(20)), 'it is no ELF file'],
    [
      'a library of Windows',
      read('uWebSockets.js/dist/bin/uws_win32_x64_127.node'),
      'it is no ELF file',
    ],
    [
      'one of a 32-bit machine',
      read('uWebSockets.js/dist/bin/uws_linux_arm_127.node'),
      'expected 64 bits',
    ],
    ['a file cut in its header', whole.subarray(0, 100), 'it is cut short: 100 bytes of'],
    ['a file cut in half', whole.subarray(0, whole.length / 2), 'it is cut short'],
  ])('refuses %s', (_, bytes, reason) => {
    expect(() => readNeeds('some.node', bytes)).toThrow(
      new RegExp(`^Cannot read what some.node needs: ${reason}`),
    );
  });

  it('refuses another processor', () => {
    const riscv = Buffer.from(whole);
    riscv.writeUInt16LE(243, 18);
    expect(() => readNeeds('some.node', riscv)).toThrow('expected a file for x86-64 or aarch64');
  });
});

describe('assertFloor', () => {
  it('accepts what the floor has', () => {
    for (const pattern of [node, sharp, libvips, uws]) {
      assertFloor(pattern, read(pattern), floors['2.28']);
    }
    assertFloor(lmdb, read(lmdb), floors['2.34']);
  });

  it('names file, version, library and floor', () => {
    const bytes = read(lmdb);
    expect(() => assertFloor('lmdb.node', bytes, floors['2.28'])).toThrow(
      /^Cannot ship lmdb\.node: it requires GLIBCXX_3\.4\.29 of libstdc\+\+\.so\.6 \(expected at most GLIBCXX_3\.4\.25\).* GLIBC_2\.34 of libc\.so\.6 \(expected at most GLIBC_2\.28\)$/,
    );
  });

  it.each([
    ['glibc', '2.27', 'GLIBC_2.28 of libc.so.6 (expected at most GLIBC_2.27)'],
    ['glibcxx', '3.4.20', 'GLIBCXX_3.4.21 of libstdc++.so.6 (expected at most GLIBCXX_3.4.20)'],
    ['cxxabi', '1.3.8', 'CXXABI_1.3.9 of libstdc++.so.6 (expected at most CXXABI_1.3.8)'],
    ['gcc', '3.3', 'of libgcc_s.so.1 (expected at most GCC_3.3)'],
  ])('checks %s on its own, by number', (system, version, reason) => {
    const floor = { ...floors['2.28'], [system]: version };
    expect(() => assertFloor(node, read(node), floor)).toThrow(reason);
  });

  it('refuses a version without a number', () => {
    const bytes = Buffer.from(read(sharp));
    bytes.write('GLIBC_PRIVATE\0', bytes.indexOf('GLIBCXX_3.4.21\0'));
    expect(() => assertFloor('sharp.node', bytes, floors['2.34'])).toThrow(
      'requires GLIBC_PRIVATE',
    );
  });
});

describe('withoutSymbols', () => {
  it('drops the symbols of a file, and nothing else', () => {
    const before = Buffer.from(read(lmdb));
    const after = withoutSymbols(before);
    expect(after.length).toBeLessThan(before.length * 0.9);
    const symbols = /^\.(symtab|strtab|debug_.*)$/;
    const kept = sectionsOf(before).filter(({ name }) => !symbols.test(name));
    expect(sectionsOf(after)).toEqual(kept);
    expect(withoutSymbols(after).equals(after)).toBe(true);
    const ends = segmentsOf(before).map(({ offset, size }) => offset + size);
    clearSectionFields(before);
    clearSectionFields(after);
    expect(after.compare(before, 0, Math.max(...ends), 0, Math.max(...ends))).toBe(0);
  });

  // That Node itself runs without its symbols shows the one file: `npm run check:file`.
  it('makes an addon that Node loads', () => {
    const folder = mkdtempSync(join(tmpdir(), 'quietzone-elf-'));
    try {
      const path = join(folder, 'lmdb.node');
      writeFileSync(path, withoutSymbols(read(lmdb)));
      const script = `process.dlopen({ exports: {} }, ${JSON.stringify(path)}); console.log(process.version)`;
      const options = { encoding: 'utf8', env: {} } as const;
      const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], options);
      expect({ stdout, stderr }).toEqual({ stdout: `${process.version}\n`, stderr: '' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('refuses a file that has data behind its end, or is cut short', () => {
    const bytes = read(lmdb);
    const longer = Buffer.concat([bytes, Buffer.alloc(7)]);
    expect(() => withoutSymbols(longer)).toThrow(
      'Cannot drop the symbols: 7 bytes follow its last section',
    );
    expect(() => withoutSymbols(bytes.subarray(0, -1))).toThrow(
      'Cannot drop the symbols: it is cut short',
    );
  });
});

/** Sections with the content of those that are not loaded; indexes are replaced by the names that they mean. */
function sectionsOf(bytes: Buffer) {
  const table = Number(bytes.readBigUInt64LE(40));
  const headers = Array.from({ length: bytes.readUInt16LE(60) }, (_, index) =>
    bytes.subarray(table + index * 64, table + index * 64 + 64),
  );
  const long = (header: Buffer | undefined, at: number) =>
    Number(header?.readBigUInt64LE(at) ?? NaN);
  const names = long(headers[bytes.readUInt16LE(62)], 24);
  const nameOf = (index: number): string => {
    const start = names + (headers[index]?.readUInt32LE(0) ?? NaN);
    return bytes.toString('utf8', start, bytes.indexOf(0, start));
  };
  return headers.map((header, index) => {
    const [flags, offset, size] = [long(header, 8), long(header, 24), long(header, 32)];
    const info = header.readUInt32LE(44);
    const isLoaded = (flags & 2) !== 0;
    return {
      name: nameOf(index),
      place: isLoaded ? offset : bytes.toString('latin1', offset, offset + size),
      link: nameOf(header.readUInt32LE(40)),
      info: (flags & 0x40) === 0 ? info : nameOf(info),
      rest: [
        header.readUInt32LE(4),
        flags,
        long(header, 16),
        size,
        long(header, 48),
        long(header, 56),
      ],
    };
  });
}

function segmentsOf(bytes: Buffer): Array<{ offset: number; size: number }> {
  const table = Number(bytes.readBigUInt64LE(32));
  return Array.from({ length: bytes.readUInt16LE(56) }, (_, index) => {
    const at = table + index * 56;
    return {
      offset: Number(bytes.readBigUInt64LE(at + 8)),
      size: Number(bytes.readBigUInt64LE(at + 32)),
    };
  });
}

/** The three fields of the file header that speak of the section headers. */
function clearSectionFields(bytes: Buffer): void {
  bytes.fill(0, 40, 48).fill(0, 60, 64);
}
