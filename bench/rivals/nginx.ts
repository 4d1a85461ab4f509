/** nginx with one constant redirect and a buffered access log: one worker, as we have one thread. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TlsFiles } from '../../src/platform/uws/port.ts';

const log = '$remote_addr [$time_iso8601] "$request" $status "$http_referer" "$http_user_agent"';

/** Undefined where nginx is not installed. */
export function findNginx(): string | undefined {
  return ['nginx', '/usr/sbin/nginx'].find(
    (file) => spawnSync(file, ['-v'], { stdio: 'ignore' }).status === 0,
  );
}

export interface NginxSetting {
  readonly port: number;
  readonly target: string;
  /** Absent: without TLS. */
  readonly tls?: TlsFiles | undefined;
}

/** Writes the configuration into `folder`; returns nginx's arguments. */
export function configureNginx(folder: string, { port, target, tls }: NginxSetting): string[] {
  const listening =
    tls === undefined
      ? `listen 127.0.0.1:${port};`
      : `listen 127.0.0.1:${port} ssl;
    ssl_certificate ${tls.tlsCertFile};
    ssl_certificate_key ${tls.tlsKeyFile};`;
  const file = join(folder, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 4096; }
http {
  log_format scan '${log}';
  access_log ${folder}/access.log scan buffer=64k flush=1s;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  keepalive_requests 1000000000;
  server {
    ${listening}
    add_header Cache-Control "private, no-store" always;
    add_header X-Content-Type-Options nosniff always;
    add_header X-Robots-Tag noindex always;
    return 302 "${target}";
  }
}
`,
  );
  return ['-p', folder, '-c', file, '-e', join(folder, 'error.log')];
}
