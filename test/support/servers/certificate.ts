import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A self-signed certificate for names, made by openssl. It ends in some days; one of -1 has ended. */
export function makeCertificate(names: readonly string[], days = 2): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subjects = names.map((name) => (/^[\d.]+$/.test(name) ? `IP:${name}` : `DNS:${name}`)).join(',');
  const kind = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=test'.split(' ');
  const options = [...kind, '-days', String(Math.abs(days)), '-addext', `subjectAltName=${subjects}`];
  execFileSync('openssl', ['req', '-x509', ...options, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  // `req` takes no days that are over.
  if (days < 0)
    execFileSync('openssl', ['x509', '-in', cert, '-signkey', key, '-days', String(days), '-out', cert], {
      stdio: 'ignore',
    });
  const made = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  rmSync(folder, { recursive: true });
  return made;
}
