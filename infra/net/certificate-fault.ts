import { causeChain } from './cause-chain.ts';

const unknownAuthority = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * Why a server's certificate was refused, and what to do, in words that follow "Cannot …: ". Null for any other error.
 * Waiting does not help, because Node reads its trusted authorities at the start. `setting` is the one with the server's
 * address.
 */
export function certificateFault(error: unknown, server: string, setting: string): string | null {
  for (const one of causeChain(error)) {
    const { code } = one as NodeJS.ErrnoException;
    if (unknownAuthority.has(code ?? ''))
      return `${server}'s certificate is not trusted (${code}); name a PEM file with its authority's in NODE_EXTRA_CA_CERTS`;
    if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
      return `${server}'s certificate is for another name; in ${setting}, and where servers announce themselves, use names that are in it`;
  }
  return null;
}
