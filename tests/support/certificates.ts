import { createHash } from 'node:crypto';

/** Self-signed certificates for P-256 keys, whose private keys were thrown away. */
const encoded = {
  a: [
    'MIIBbzCCARWgAwIBAgIUC2Yxsx7Xo/sldS0VL75FBbx8mMowCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBYTAgFw0yNjExMjIw',
    'MDMxMDhaGA8yMTI2MTAyOTAwMzEwOFowDDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCRDOx/m3MCX',
    '69y1boy8nl4wENr9M6CVl2Quqnq4IztSpyuvXvd6sD+DngTtytDvfG49vj8JnTDIcUtBVoxS52ejUzBRMB0GA1UdDgQWBBQT',
    '8Cjg2RlMiQ8L7lOB45nMLDzlbzAfBgNVHSMEGDAWgBQT8Cjg2RlMiQ8L7lOB45nMLDzlbzAPBgNVHRMBAf8EBTADAQH/MAoG',
    'CCqGSM49BAMCA0gAMEUCIQCOppIB5Gmgh4qobTCpBmjPK2itT1f4zX/MIygKqypuEQIgZhsf5CQt+KJfXqOwMvTaYvdB1CIc',
    '4Znxl+XIddJDtKc=',
  ].join(''),
  b: [
    'MIIBcDCCARWgAwIBAgIUILzG+Jyvecy/OTcTcVyF93y5iYgwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBYjAgFw0yNjExMjIw',
    'MDMxMDhaGA8yMTI2MTAyOTAwMzEwOFowDDEKMAgGA1UEAwwBYjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABMRB1XWKNgw6',
    'aMy1grDP5jyYPQfR3DgOLLt8MxZWRLhCJdMSU1WPhLCMdK9gnMQiwam0C/r1v6IYu0KAu9TLEgKjUzBRMB0GA1UdDgQWBBQC',
    'VOa2t9snayN1cquBWWcKeYKLHjAfBgNVHSMEGDAWgBQCVOa2t9snayN1cquBWWcKeYKLHjAPBgNVHRMBAf8EBTADAQH/MAoG',
    'CCqGSM49BAMCA0kAMEYCIQCKnzBWYVUcperGO1KJwAjjSv5/ORahRL1+0AcUqtRp+QIhAJR8Hkr2YVs7id849Mup3bWE5HTY',
    'wNCjiv2vASVmkUBw',
  ].join(''),
};

/** Returns the forms of a certificate. */
export function certificate(name: keyof typeof encoded) {
  const base64 = encoded[name];
  const der = Buffer.from(base64, 'base64');
  const pem = `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
  const thumbprint = createHash('sha256').update(der).digest('base64url');
  /** As in the header `Client-Cert` (RFC 9440), and as nginx writes it. */
  return { der, pem, thumbprint, field: `:${base64}:`, escaped: encodeURIComponent(pem) };
}
