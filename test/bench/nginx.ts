import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../infra/local/free-port.ts';
import { startLocalProcess } from '../../infra/local/local-process.ts';
import type { Answering } from './answers.ts';
import type { Used } from './cpu-report.ts';
import { measuredCore, pin } from './pinned-process.ts';

// Of /proc/<pid>/stat: Linux counts in hundredths of a second.
const ticksPerSecond = 100;

/** Debian's nginx before a service: it compresses each answer anew. What it used is that of both processes. */
export async function nginxBefore(service: Answering, level: number, ended: AsyncDisposableStack): Promise<Answering> {
  const dir = await mkdtemp(join(tmpdir(), 'ride-calendar-nginx-'));
  ended.defer(() => rm(dir, { recursive: true, force: true }));
  const port = await freePort();
  await writeFile(
    join(dir, 'nginx.conf'),
    `daemon off; master_process off; pid ${dir}/pid; error_log stderr;
    events { worker_connections 1024; }
    http {
      access_log off; client_body_temp_path ${dir}; proxy_temp_path ${dir};
      upstream api { server 127.0.0.1:${service.port}; keepalive 64; }
      server {
        listen 127.0.0.1:${port}; keepalive_requests 1000000;
        gzip on; gzip_comp_level ${level}; gzip_types application/json; gzip_buffers 4 64k; proxy_buffers 8 64k;
        location / {
          proxy_pass http://api; proxy_http_version 1.1;
          proxy_set_header Connection ""; proxy_set_header Accept-Encoding "";
        }
      }
    }`,
  );
  const nginx = await startLocalProcess('nginx', ['-c', join(dir, 'nginx.conf')], { cwd: dir });
  ended.defer(() => nginx.end('SIGTERM'));
  pin(nginx.pid, measuredCore);
  while (!(await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null))?.ok) {
    if (nginx.hasExited()) throw new Error(`Cannot measure nginx: ${nginx.output()}`);
  }
  return {
    port,
    ask: async <Answer>() => {
      const ofService = await service.ask<Used>('used');
      const fields = (await readFile(`/proc/${nginx.pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ');
      const cpuSeconds = ofService.cpuSeconds + (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
      return { ...ofService, cpuSeconds } as Answer;
    },
  };
}
