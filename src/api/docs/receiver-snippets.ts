/**
 * Verification of a delivery in the languages that receivers are written in: the same few steps, with nothing
 * but each language's own library. Tests run those that their machine can run against the signature vectors.
 *
 *   raw body -> t and every v1 of X-Service-Signature -> t is near now -> HMAC-SHA256 of "<t>.<body>"
 *     -> compared with each v1 in constant time
 */
export interface Snippet {
  readonly language: string;
  readonly code: string;
}

export const nodeSnippet: Snippet = {
  language: 'Node.js',
  code: `import { createHmac, timingSafeEqual } from 'node:crypto';

const toleranceSeconds = 300;

/** @param {Buffer} body as it arrived, before any JSON parser */
export function verify(body, header, secret, nowSeconds = Date.now() / 1000) {
  const parts = header.split(',').map((part) => part.split('='));
  const sentAt = parts.find(([name]) => name === 't')?.[1] ?? '';
  if (!(Math.abs(nowSeconds - Number(sentAt)) <= toleranceSeconds)) return false;
  const expected = createHmac('sha256', secret).update(sentAt + '.').update(body).digest();
  return parts.some(([name, hex = '']) => {
    const given = Buffer.from(hex, 'hex');
    return name === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

// Express: keep the raw body.
// app.post('/hooks/qr', express.raw({ type: 'application/json' }), (request, response) => {
//   const header = request.get('X-Service-Signature') ?? '';
//   if (!verify(request.body, header, process.env.WEBHOOK_SECRET)) return response.sendStatus(400);
//   response.sendStatus(204);
//   const events = [JSON.parse(request.body)].flat();
// });
`,
};

export const pythonSnippet: Snippet = {
  language: 'Python',
  code: `import hashlib
import hmac
import time

TOLERANCE_SECONDS = 300


def verify(body: bytes, header: str, secret: str, now=None) -> bool:
    """body: as it arrived, for example request.get_data() of Flask, request.body of Django"""
    parts = [part.split("=", 1) for part in header.split(",") if "=" in part]
    sent_at = next((value for name, value in parts if name == "t"), "")
    now = time.time() if now is None else now
    if not sent_at.isdecimal() or abs(now - int(sent_at)) > TOLERANCE_SECONDS:
        return False
    signed = sent_at.encode() + b"." + body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest().encode()
    given = [value.encode() for name, value in parts if name == "v1"]
    return any(hmac.compare_digest(expected, one) for one in given)
`,
};

const goSnippet: Snippet = {
  language: 'Go',
  code: `package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

const tolerance = 5 * time.Minute

// Verify takes the body as it arrived (io.ReadAll of a bounded reader) and X-Service-Signature.
func Verify(body []byte, header, secret string, now time.Time) bool {
	var sentAt string
	var given [][]byte
	for _, part := range strings.Split(header, ",") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "t":
			sentAt = value
		case "v1":
			if sum, err := hex.DecodeString(value); err == nil {
				given = append(given, sum)
			}
		}
	}
	seconds, err := strconv.ParseInt(sentAt, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(sentAt + "."))
	mac.Write(body)
	expected := mac.Sum(nil)
	for _, sum := range given {
		if hmac.Equal(sum, expected) {
			return true
		}
	}
	return false
}
`,
};

const phpSnippet: Snippet = {
  language: 'PHP',
  code: `<?php
const TOLERANCE_SECONDS = 300;

function verify(string $body, string $header, string $secret, ?int $now = null): bool
{
    $sentAt = '';
    $given = [];
    foreach (explode(',', $header) as $part) {
        [$name, $value] = explode('=', $part, 2) + ['', ''];
        if ($name === 't') $sentAt = $value;
        if ($name === 'v1') $given[] = $value;
    }
    $now ??= time();
    if (!ctype_digit($sentAt) || abs($now - (int) $sentAt) > TOLERANCE_SECONDS) {
        return false;
    }
    $expected = hash_hmac('sha256', $sentAt . '.' . $body, $secret);
    foreach ($given as $hex) {
        if (hash_equals($expected, $hex)) return true;
    }
    return false;
}

$body = file_get_contents('php://input');
$header = $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '';
if (!verify($body, $header, getenv('WEBHOOK_SECRET'))) {
    http_response_code(400);
    exit;
}
http_response_code(204);
`,
};

const rubySnippet: Snippet = {
  language: 'Ruby',
  code: `require "openssl"

TOLERANCE_SECONDS = 300

# body: as it arrived, for example request.raw_post of Rails, request.body.read of Rack
def verify(body, header, secret, now = Time.now.to_i)
  parts = header.split(",").map { |part| part.split("=", 2) }
  sent_at = parts.assoc("t")&.last.to_s
  return false unless sent_at.match?(/\\A\\d+\\z/)
  return false if (now - sent_at.to_i).abs > TOLERANCE_SECONDS

  expected = OpenSSL::HMAC.hexdigest("SHA256", secret, "#{sent_at}.".b + body.b)
  parts.any? { |name, value| name == "v1" && OpenSSL.secure_compare(expected, value.to_s) }
end
`,
};

export const snippets: readonly Snippet[] = [
  nodeSnippet,
  pythonSnippet,
  goSnippet,
  phpSnippet,
  rubySnippet,
];
