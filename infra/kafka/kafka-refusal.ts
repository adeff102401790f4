import { causeChain } from '../net/cause-chain.ts';
import { certificateFault } from '../net/certificate-fault.ts';

const wrongCredentials = new Set(['SASL_AUTHENTICATION_FAILED', 'UNSUPPORTED_SASL_MECHANISM']);
const sasl = 'KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD';

/** Why waiting will not help, and what to do. `who` names the brokers. Null if waiting may help. */
export function refusalOf(error: unknown, who: string): string | null {
  for (const one of causeChain(error)) {
    const { apiId = '' } = one as { apiId?: string };
    if (wrongCredentials.has(apiId)) return `${who} refuses the credentials; check ${sasl}`;
    if (apiId === 'ILLEGAL_SASL_STATE')
      return `${who} takes no credentials there; leave ${sasl} out, or check the port`;
    // The client has no error code for this.
    if (one.message === 'Broker requires TLS.') return `${who} wants TLS there; set KAFKA_SSL=true, or check the port`;
  }
  return certificateFault(error, who, 'KAFKA_BROKERS');
}

/**
 * What may be wrong if a broker closes a connection without an error: the port may want TLS, or credentials, or
 * neither.
 */
export function hintOf(error: unknown): string {
  for (const one of causeChain(error))
    if (one.message === 'Connection closed' || (one as NodeJS.ErrnoException).code === 'ECONNRESET')
      return ' (if it goes on: check KAFKA_SSL, and KAFKA_SASL_MECHANISM and what belongs to it)';
  return '';
}
