/** A self-signed certificate for 127.0.0.1, for test servers; its key is not secret. */
import { createPrivateKey } from 'node:crypto';

const body = `
MIIBZDCCAQqgAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKq5lNw8zx44/VGA
oHF8Z3r+QzrtaioOmkSFO4H4YtGP34dYFPi9AExCn0isXYHZd7cN7Hm8r9hRB9WW
aWnkYoujSzBJMAwGA1UdEwQFMAMBAf8wGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/
AAABMB0GA1UdDgQWBBTq2YiBixLVVtAh3LcCm7p50c86IDAKBggqhkjOPQQDAgNI
ADBFAiEAhHlXn6LzYvsPeQoSpqeG0ol3yvFQyhfPY4ScUCAHgosCIBdy0o/VTFhc
DkJZK/8gStaJn1tkZ+bOVNeYlcjk6MTL
`;

/** PEM. */
export const certificate = `-----BEGIN CERTIFICATE-----${body}-----END CERTIFICATE-----\n`;

/** PEM. */
export const certificateKey = createPrivateKey({
  format: 'jwk',
  key: {
    kty: 'EC',
    crv: 'P-256',
    x: 'qrmU3DzPHjj9UYCgcXxnev5DOu1qKg6aRIU7gfhi0Y8',
    y: '34dYFPi9AExCn0isXYHZd7cN7Hm8r9hRB9WWaWnkYos',
    d: '_4WoyfEFezBk7El119bOjvwiVAlpwud06oVzhXQ-8GM',
  },
})
  .export({ format: 'pem', type: 'pkcs8' })
  .toString();
