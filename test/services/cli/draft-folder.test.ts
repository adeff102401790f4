import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { draftFolder } from '../../../services/cli/draft-folder.ts';
import { testFolder } from '../../support/processes/test-folder.ts';

const dir = testFolder();

it('complete files are not moved into a folder that has been filled meanwhile', () => {
  const draft = draftFolder(dir, 'export');
  writeFileSync(join(draft.path, 'manifest.json'), '');
  writeFileSync(join(dir, 'other'), '');
  expect(() => draft.publish('manifest.json')).toThrow(
    'it has been filled meanwhile (other); name a new or empty folder',
  );
  draft.drop();
  expect(readdirSync(dir)).toEqual(['other']);
});
