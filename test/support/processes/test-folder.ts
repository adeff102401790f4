import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** A folder of a test file's own, or of a describe's: it goes with it. */
export function testFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'ride-calendar-test-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
