import { createHash } from 'node:crypto';

/** Self-signed certificates for Ed25519 keys, whose private keys were thrown away. */
const encoded = {
  a: [
    'MIHUMIGHAhQT/wX1EGa+X00bSTW+J0x8dModKjAFBgMrZXAwDDEKMAgGA1UEAwwBYTAgFw0yNjExMjIwMzA3MzlaGA8yMTI2MTAy',
    'OTAzMDczOVowDDEKMAgGA1UEAwwBYTAqMAUGAytlcAMhACygaXktLLZ0s7oMtB9QK1o1Quj+JLb98eLa+MwI383zMAUGAytlcANB',
    'AC6y6b8AN7HTntMUmtEuvKRkbVDBtuP7tjQKTlux2daFJzeT2byANpa6CaZyj4cdsOKM4llvQZ1BE6sczs8U1w4=',
  ].join(''),
  b: [
    'MIHUMIGHAhRkZbhAdV2xeObjWXiKmjk4kDJ9dTAFBgMrZXAwDDEKMAgGA1UEAwwBYjAgFw0yNjExMjIwMzA3NDBaGA8yMTI2MTAy',
    'OTAzMDc0MFowDDEKMAgGA1UEAwwBYjAqMAUGAytlcAMhAKnviTmMmqOsGYoOKLT2avbxANqnw/VdW/RT0jAfAjMvMAUGAytlcANB',
    'AAsuB367ua3FX+BK3DiO9VU6goTr/qVFMsX98lMQ/hiAE/Xc3IE29GA0JbK1BaEp2Nu32rXZfdDkJgOrZwdzfgA=',
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
