import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { cache, pythonWith } from '../../support/servers/python-package.ts';

/**
 * Runs Schemathesis (a fuzzer of APIs, from PyPI) over a running service: requests made from its OpenAPI document,
 * legal ones and others, whose answers must never be a 5xx and must be as the document says.
 */

const run = promisify(execFile);

/**
 * The range's rule (`to` at most 31 days after `from`) is beyond JSON Schema: there, inputs that fit it may be
 * refused. (Unknown parameters are ignored, which is no concern of the checks.)
 */
const config = ['/me/known', '/me/friends', '/me/flagged']
  .map(
    (operation) => `[[operations]]
include-path = "${operation}"
[operations.checks.positive_data_acceptance]
enabled = false
`,
  )
  .join('\n');

export interface SchemathesisOptions {
  /** The interface's base address, without a slash at its end. */
  baseUrl: string;
  developerKey: string;
  /** An access token; without one the /me operations are only tried as a stranger. */
  accessToken?: string;
  /** Requests made up per operation and phase. */
  examplesMax?: number;
  seed?: number;
}

/** Resolves with whether every check passed, and what was printed. Installs Schemathesis into .cache/ the first time. */
export async function runSchemathesis(options: SchemathesisOptions): Promise<{ passed: boolean; output: string }> {
  const { baseUrl, developerKey, accessToken, examplesMax = 100, seed = 1 } = options;
  const programs = await pythonWith('schemathesis', '4.32.5');
  const folder = await mkdtemp(path.join(cache, 'schemathesis-run-'));
  const configFile = path.join(folder, 'schemathesis.toml');
  await writeFile(configFile, config);
  const args = ['--config-file', configFile, 'run', `${baseUrl}/openapi.json`, '--no-color'];
  args.push('--header', `X-Api-Key: ${developerKey}`, '--max-examples', String(examplesMax), '--seed', String(seed));
  if (accessToken !== undefined) args.push('--header', `Authorization: Bearer ${accessToken}`);
  try {
    const { stdout } = await run(path.join(programs, 'schemathesis'), args, { cwd: folder, maxBuffer: 64 << 20 });
    return { passed: true, output: stdout };
  } catch (error) {
    // The error's own message holds the command line, and so the credentials.
    const { stdout, stderr, code } = error as { stdout?: string; stderr?: string; code?: unknown };
    return { passed: false, output: `${stdout ?? ''}${stderr ?? ''}Schemathesis ended with ${code}` };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

// By hand: node test/api/openapi/schemathesis.ts <base URL> <developer key> [access token]
if (import.meta.main) {
  const [baseUrl = 'http://127.0.0.1:8080/api', developerKey = '', accessToken] = process.argv.slice(2);
  const options = { baseUrl, developerKey, ...(accessToken === undefined ? {} : { accessToken }) };
  const { passed, output } = await runSchemathesis(options);
  console.log(output);
  process.exitCode = passed ? 0 : 1;
}
