/** The page at `/` when the dashboard could not be built: where to go, and the first request. */
import { escapeHtml } from '../../model/text.ts';
import type { Reply } from '../../http/request.ts';
import { shipped } from '../../shipped.ts';
import { logo, pageReply } from './page.ts';

/** @param publicUrl the API's public address, without /v1 */
export function frontPage(publicUrl: string): Reply {
  const body = `<div class="front">
<a class="brand" href="/">${logo}Quietzone</a>
<h1>Your QR code service is running.</h1>
<p class="lead">Print a code once, change where it leads whenever you like, and see every scan.
The dashboard could not be built (the log says why). The API does everything that the dashboard does.</p>
<ul class="links">
<li><a href="/docs"><b>API reference</b><span>Every operation, with examples</span></a></li>
<li><a href="/docs/operations"><b>Operations</b><span>Proxies, backups, what to watch</span></a></li>
<li><a href="/v1/openapi.json"><b>OpenAPI 3.1</b><span>For generators and clients</span></a></li>
<li><a href="/health/ready"><b>Health</b><span>Is it ready, and if not, why</span></a></li>
</ul>
<p>Create a first code with the API key that was printed at the first start
(<code>${shipped.command} keys create --name me</code> creates another):</p>
<pre><code>${escapeHtml(firstRequest(publicUrl))}</code></pre>
<p class="soft">The answer has <code>shortUrl</code>, the address in the code, and
<code>imageUrl</code>, the picture to print.</p>
<p class="soft">Countries and cities of scans: <a href="https://db-ip.com">IP Geolocation by DB-IP</a> and
<a href="https://www.nro.net">NRO</a>, CC BY 4.0.</p>
</div>`;
  return pageReply('Quietzone', body);
}

/** The `curl` that creates a code. */
export function firstRequest(publicUrl: string): string {
  return `curl ${publicUrl}/v1/qr-codes \\
  -H "Authorization: Bearer $API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"target": "https://example.com/menu"}'`;
}
