import { createHash } from 'node:crypto';

const encoded = [
  'MIICoTCCAYkCFBu+DTkwxFT7NjCwwIeBV7ESgVbmMA0GCSqGSIb3DQEBCwUAMAwxCjAIBgNVBAMMAWUwIBcNMjYxMTIyMDMyMjUxWhgPMjEyNjEw',
  'MjkwMzIyNTFaMAwxCjAIBgNVBAMMAWUwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQDsOQ+XaMxQJukYFOMlJnSy8zsqtVHHNAnBk9zo',
  '7H4Zb56jr2zqaSmx3XUl1tiOx3sL4uqIGJ1FgXLGLQ+ab6/ixBeSeSzxqMMrld7f3Se7qWbfE/8DahZI9tVlIo1oThgsia4ARHgNbIXxduVF35J3',
  '0oRcvVBj/qAMaFyUTEtvkpvb+m040n/GtyTKSR1dKsFe9Di2Cv+8z3bWxt47rBE/hzEoSY+Kcn5xoXbdiLUq0d3D9iBsjqzwtzxRlUW/gcZ2PIFh',
  'hFcZuef8O7G/j/dRvOA1nPQEaGRoFHwzEkHfXvJD1d2y3sehJ8Qx7Vh5aPmxLjFu+HbOftMSsEo4qRw7AgMBAAEwDQYJKoZIhvcNAQELBQADggEB',
  'ABeaN4FPGE395A4uIaDLSG4Ab6M8A1VbIQlFSFEzq3s7nn5s1PGDFO6rLY2xT7p3IALDswFpMHYlpnLQaV8HiQmktPJU7idNH7zyflKClGTIGnhD',
  'Npflk3ARYnVE0KuJeX+C37ATGmSaoZVV7IyGryXDvJzxtQl9TDTq0WaYBtgkt8hasDGhQRgc0dPoQdx09c/tPmNY/3o3Q4R78Z7OV46papI4CdK3',
  'eHvhXjlvFB5yDGi9rA/Q3dO5ghghApvS2FGlmexhrNEbp3cYhyE0AM8ltZgZtUVkPZkte378en8ZMBNDzwvDSnjSpEf5YhT8vW1WEwM98mav+y/X',
  'lDCtn7E=',
].join('');
const a = Buffer.from(encoded, 'base64');
/** `a` is self-signed by the RSA test key `stranger`, and `b` is another for the same key: only its signature differs. */
const certificates = { a, b: Buffer.from(a.with(-1, 0)) };

/** Returns the forms of a certificate. */
export function certificate(name: keyof typeof certificates) {
  const der = certificates[name];
  const base64 = der.toString('base64');
  const pem = `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
  const thumbprint = createHash('sha256').update(der).digest('base64url');
  /** As in the header `Client-Cert` (RFC 9440), and as nginx writes it. */
  return { der, pem, thumbprint, field: `:${base64}:`, escaped: encodeURIComponent(pem) };
}
